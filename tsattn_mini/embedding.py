"""From a window of numbers to a sequence of width M: what was measured, when, and at which position.

Sources: H. Zhou et al., "Informer" (AAAI 2021), appendix B, for the sum of the three parts; A. Vaswani
et al., "Attention Is All You Need" (2017), section 3.5, for the sinusoids. Left out: dropout.
"""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.trace import meaning, step

CALENDAR = {"month": (1, 12), "day": (1, 31), "weekday": (0, 6), "hour": (0, 23), "minute": (0, 3)}
ROOM = 1e3  # a spectrum or a score may be so many times as large as the marks that it comes from


def sinusoids(L: int, M: int, dtype: torch.dtype = torch.float32) -> Float[Tensor, "L M"]:
    """Row t holds sin(t ω), cos(t ω) side by side, with ω falling from 1 towards 1/10000 along the row.

    >>> sinusoids(2, 4)[1]  # sin and cos of a fast clock, then of one a hundred times as slow
    tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """
    checks.counts(L=L, M=M)
    t = torch.arange(L, dtype=dtype)[:, None]
    omega = torch.exp(torch.arange(0, M, 2, dtype=dtype) * (-math.log(10000.0) / M))
    return torch.stack([torch.sin(t * omega), torch.cos(t * omega)], dim=-1).flatten(1)[:, :M]


def finite_rows(**windows: Shaped[Tensor, "_ _ _"] | None) -> None:
    """Check that every number is finite, and say where in the table it is not.

    Raises:
        ValueError: naming the argument, and the row and column of the first NaN or infinity.
    """
    if torch.compiler.is_compiling():
        return
    for name, x in windows.items():
        if x is not None and not checks.all_finite(x):
            bad = (~torch.isfinite(x)).nonzero()
            window, row, column = bad[0].tolist()
            raise ValueError(f"{name}: expected finite numbers, got {x[window, row, column].item()} at "
                             f"row {row}, column {column} of window {window} ({len(bad)} of {x.numel()} "
                             "entries are not finite)")


class CalendarEmbedding(nn.Module):
    """Look up one row per calendar column and add them: month, day, weekday, hour, and quarter of the hour.

    The columns hold whole numbers: month 1 to 12, day 1 to 31, weekday 0 to 6 (Monday first), hour 0 to 23
    and, with five columns, minute 0 to 3 (in quarters).

    Args:
        M: model width.
        columns: 4, or 5 for data finer than an hour.
        learned: True for tables that train; False for fixed sinusoids.
    Raises:
        ValueError: another number of columns than 4 or 5.

    >>> tables = CalendarEmbedding(M=8)
    >>> monday_noon = torch.tensor([[[1, 31, 0, 12]]])
    >>> tables(monday_noon).shape
    torch.Size([1, 1, 8])
    """

    def __init__(self, M: int, columns: int = 4, learned: bool = False) -> None:
        super().__init__()
        checks.counts(M=M, columns=columns)
        if columns not in (4, 5):
            raise ValueError("marks: expected 4 calendar columns (month, day, weekday, hour) or 5 (minute), "
                             f"got {columns}")
        self.tables = nn.ModuleDict()
        for name, (_, last) in list(CALENDAR.items())[:columns]:
            table = nn.Embedding(last + 1, M)
            if not learned:
                table.weight = nn.Parameter(sinusoids(last + 1, M), requires_grad=False)
            self.tables[name] = table

    def forward(self, marks: Shaped[Tensor, "B L K"]) -> Float[Tensor, "B L M"]:
        """Raises ValueError for another number of columns, or a number that its column does not know."""
        checks.shapes(marks=(marks, f"B L {len(self.tables)}"))
        checks.required(marks=marks)
        if marks.dtype == torch.bool:
            raise ValueError("marks: expected calendar numbers, got bool")
        columns = dict(zip(self.tables, marks.unbind(-1), strict=True))
        self._check_range(columns)
        return sum(self.tables[name](column.long()) for name, column in columns.items())

    def _check_range(self, columns: dict[str, Tensor]) -> None:
        if torch.compiler.is_compiling():
            return
        for name, column in columns.items():
            first, last = CALENDAR[name]
            wrong = (column != column.round()) | (column < first) | (column > last)
            if bool(wrong.any()):
                window, row = wrong.nonzero()[0].tolist()
                raise ValueError(f"marks: expected whole numbers from {first} to {last} in column {name!r}, "
                                 f"got {column[window, row].item()} at row {row} of window {window}")


class DataEmbedding(nn.Module):
    """token + time + position, each of width M.

    token     a convolution over three neighbouring steps, circular: the first step also sees the last
    time      the marks of each step, by one matrix, or by tables if they are calendar numbers
    position  fixed sinusoids

    Args:
        V: variables; M: model width.
        marks: columns of time features; 0 for none.
        calendar: None if the marks are real numbers; "fixed" or "learned" if they are calendar numbers
            (see `CalendarEmbedding`).
        position: False leaves the sinusoids out, for models that know the order by other means.
        called: what the model that reads the marks calls them.
    Raises:
        ValueError: a `calendar` that is none of these.

    >>> net = DataEmbedding(V=3, M=8)
    >>> net(torch.zeros(1, 24, 3), torch.zeros(1, 24, 4)).shape
    torch.Size([1, 24, 8])
    """

    def __init__(self, V: int, M: int, marks: int = 4, calendar: str | None = None,
                 position: bool = True, called: str = "marks") -> None:
        super().__init__()
        checks.counts(V=V, M=M)
        checks.counts(0, marks=marks)
        if calendar not in (None, "fixed", "learned"):
            raise ValueError(f"calendar: expected None, 'fixed' or 'learned', got {calendar!r}")
        self.V, self.marks, self.position, self.called = V, marks, position, called
        self.token = nn.Conv1d(V, M, kernel_size=3, padding=1, padding_mode="circular", bias=False)
        nn.init.kaiming_normal_(self.token.weight, mode="fan_in", nonlinearity="leaky_relu")
        self.time = None
        if calendar:
            self.time = CalendarEmbedding(M, marks, learned=calendar == "learned")
        elif marks:
            self.time = nn.Linear(marks, M, bias=False)

    @meaning("embed")
    def forward(self, x: Float[Tensor, "B L V"],
                marks: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B L M"]:
        """`marks=None` leaves the time term out.

        Raises:
            ValueError: another number of variables or marks than the module was built for, entries that are not
                finite (row and column are named), or so large that no norm can be taken of what they become.
        """
        checks.shapes(x=(x, f"B L {self.V}"))
        if marks is not None and self.time is None:
            raise ValueError("marks: expected None, as the module was built with marks=0, "
                             f"got shape {tuple(marks.shape)}")
        checks.shapes(x=(x, "B L V"), marks=(marks, f"B L {self.marks}"))
        checks.required(x=x)
        checks.floating(self.token.weight.dtype, x=x)
        finite_rows(x=x, marks=marks)
        h = step("token", self.token(x.mT).mT.contiguous(), axes="B L M", eq="Σ_j W_j x_{t+j},  j = -1, 0, 1",
                 note="Each step with its two neighbours; the two ends count as neighbours.")
        if marks is not None:
            time = step("time", self.time(marks.to(x.dtype)), axes="B L M", eq="W_m marks",
                        note="What the clock and the calendar say.")
            checks.squares(self.called, time, ROOM)
            h = h + time
        if self.position:
            table = sinusoids(x.shape[1], h.shape[-1], torch.promote_types(h.dtype, torch.float32)).to(h)
            h = h + step("position", table[None], axes="1 L M", eq="sin(t ω), cos(t ω)",
                         note="Where in the window it stands.")
        checks.overflow("x", h)
        eq = "token + time + position" if self.position else "token + time"
        return step("h", h, axes="B L M", eq=eq, note="What the layers read.")
