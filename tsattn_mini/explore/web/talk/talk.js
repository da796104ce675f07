// The talk of a lesson. `book.js` loads this script when somebody wants to present.
import { openTalk } from "./open.js";

self.tsattnTalk(openTalk);
