// The talk of a lesson. `book.js` loads this script when somebody wants to present.
import { openTalk } from "./open.js";
import { openSpeaker } from "./speaker.js";

const asks = new URLSearchParams(location.search);
self.tsattnTalk(asks.has("speaker") ? openSpeaker : openTalk);
