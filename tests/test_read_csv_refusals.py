"""What `read_csv` refuses, it refuses in one line: the row and column as a spreadsheet shows them, and what to do."""

import gzip

import pytest
from csv_files import read

from tsattn_mini.datasets import read_csv

pytestmark = pytest.mark.bad_input
ROWS = "date,x,y\n2024-01-01,1,2\n2024-01-02,{}\n2024-01-03,5,6\n"


def refused(text, match, **arguments):
    with pytest.raises(ValueError, match=match) as caught:
        read(text, **arguments)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 320


@pytest.mark.parametrize(("cells", "match"), [
    ("off,3", "^my.csv: row 3, column 'x': expected a number, got 'off': write NA if missing, or leave the column out"),
    ("3,inf", "^my.csv: row 3, column 'y': expected a finite number, got 'inf': write NA"),
    ("3,1e999", "^my.csv: row 3, column 'y': expected a finite number, got '1e999'"),
    ("1_000,3", "^my.csv: row 3, column 'x': expected a number, got '1_000'"),
    ("0x10,3", "^my.csv: row 3, column 'x': expected a number, got '0x10'"),
    ('"1,5",2.5', r"^my.csv: row 3, column 'y': got '2.5', but the decimal sign of this file is ','.*decimal='.'$"),
    ('"1,500",2', "^my.csv: row 3, column 'x': '1,500' can be read in two ways.*decimal='.' or decimal=','$"),
    ("5%,3", "^my.csv: row 3, column 'x': got '5%' in a column without percent signs"),
    ("9007199254740993,3", "^my.csv: row 3, column 'x': got '9007199254740993', more digits than a float64 keeps"),
    ("3,4,5", "^my.csv: row 3: the row has more than 3 cells; '5' is beyond the last name: put quotes.*sep="),
    ("3", "^my.csv: row 3, column 'y': the value is missing: say missing='interpolate', 'last' or 'zero'"),
    ('"3,4', "^my.csv: row 3: a quote that is opened in this row is never closed"),
    ('"<b>\nx",4', r"^my.csv: row 3, column 'x': expected a number, got '<b>\\nx'"),
])
def test_a_cell_that_does_not_fit(cells, match):
    refused(ROWS.format(cells), match)


@pytest.mark.parametrize("blank", [
    "", " ", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "-", "--", "?", "."])
def test_missing_values_are_refused_by_default(blank):
    refused(ROWS.format(f"{blank},4"), "^my.csv: row 3, column 'x': the value is missing: say missing=")


def test_the_first_of_what_is_missing_is_named_and_all_are_counted():
    refused("date,x,y\n2024-01-01,1,\n2024-01-04,,2\n2024-01-05,1,2\n2024-01-06,1,2\n",
            r"^my.csv: row 2, column 'y': the value is missing \(2 values are missing in the whole file\)")
    refused("date,x\n2024-01-01,1\n2024-01-02,\n2024-01-04,1\n", "row 3, column 'x': the value is missing: say")
    refused("date,x\n2024-01-01,1\n2024-01-02,3\n2024-01-05,1\n2024-01-06,1\n2024-01-08,\n",
            r"^my.csv: row 4: 2 times from 2024-01-03 00:00:00 on are missing before it \(freq 'D'\); 3 in the whole")


@pytest.mark.parametrize(("rows", "match"), [
    ("01/02/2024,1\n02/02/2024,2\n",
     r"column 'date': the dates can be read in two ways, '%d/%m/%Y' \(01 Feb 2024\) and '%m/%d/%Y' \(02 Jan 2024\): "
     "say date_format='%d/%m/%Y' or date_format='%m/%d/%Y'$"),
    ("01/02/03,1\n02/02/03,2\n", "column 'date': the dates can be read in two ways"),
    ("2024-01-01,1\n01.02.2024,2\n", "row 3, column 'date': got '01.02.2024', no time of the form of the first"),
    ("2024-01-01,1\n2024-02-30,2\n", "row 3, column 'date': got '2024-02-30', no time of the form"),
    ("2024-01-01,1\n,2\n", "row 3, column 'date': there is no time in a row that holds values"),
    ("45292,1\n45293,2\n", "row 2, column 'date': got '45292', perhaps a spreadsheet's day number"),
    ("spring,1\nsummer,2\n", "row 2, column 'date': expected a time, got 'spring'"),
    ("2024-01-01T01:00Z,1\n2024-01-01T02:00,2\n", "row 3, column 'date': got '2024-01-01T02:00', but the first time"),
    ("2024-01-01,1\n2024-01-01,2\n", "row 3: the time 2024-01-01 00:00:00 is that of row 2 too, with other values"),
    ("2024-01-03,1\n2024-01-01,2\n2024-01-03,7\n", "row 4: the time 2024-01-03 00:00:00 is that of row 2 too"),
    ("2024-10-27 02:00,1\n2024-10-27 02:00,2\n2024-10-27 03:00,3\n", "row 3: .*the clocks may have gone back here"),
    ("2024-01-01 00:00,1\n2024-01-01 01:00,2\n2024-01-01 02:07,3\n",
     "row 4: the times keep no regular step: 2024-01-01 02:07:00 is 01:07:00 after .* 01:00:00 is usual"),
    ("2024-01-05,1\n2024-01-06,2\n2024-01-07,2\n2204-01-08,3\n",
     "row 5: more times of freq='D' are missing than there; the longest gap, 65744 days"),
    ("2024-01-01,1\n", "row 2: one row alone has no step: say freq="),
])
def test_times_that_leave_something_open(rows, match):
    refused("date,x\n" + rows, "^my.csv: " + match)


@pytest.mark.parametrize(("text", "match"), [
    ("", "^my.csv: the file is empty: expected a header and rows of values$"),
    (" \n\n", "^my.csv: the file is empty"),
    ("\v,\v\x85\n,", "^my.csv: the file is empty"),
    ("a" * 200_000, "^my.csv: row 1: the first row cannot be cut into cells at ',': say sep="),
    ("date,x\n", "^my.csv: expected rows of values below the header, got the names 'date, x' alone$"),
    ("date,x\n,\n", "^my.csv: expected rows of values below the header"),
    ("x,y\n1.5,2\n3,4\n", r"^my.csv: row 2: no column holds times \('x', 'y'\): say date='…'.*freq='h' to count"),
    ("date\n2024-01-01\n", r"^my.csv: row 2: there is no column beside the times \('date'\)"),
    ("start,end,x\n2024-01-01,2024-01-02,5\n", "row 2: the columns 'start', 'end' all hold times: say date='start'"),
    ("x,y\n1,2,3\n4,5,6\n", "^my.csv: row 1: expected a name for each of the 3 columns, got 2 cells"),
    ("date,x,y\n2024-01-01,1,\n2024-01-02,2,NA\n", "^my.csv: column 'y': it holds no value at all: leave it out"),
    ("date,w\n" + "".join(f"2024-01-{d:02},note {d}\n" for d in range(1, 25)),
     "^my.csv: row 22, column 'w': got 'note 21', a further word .* more than 20 different ones are no category"),
    ("date,w\n2024-01-01,a\n2024-01-02,7\n", r"row 3, column 'w': got the number '7' in a column of words \('a'\)"),
    (b"PK\x03\x04rest", "^my.csv: this is a zip file or a spreadsheet workbook: save one sheet as CSV"),
    (b"PAR1rest", "^my.csv: this is a Parquet file"),
    (bytes(range(8)) * 100, r"^my.csv: this is not a text file \(it holds zero bytes\)"),
    (gzip.compress(ROWS.encode(), mtime=0)[:-9], "^my.csv: the packed file cannot be unpacked"),
    (b"\x1f\x8bnot packed", "^my.csv: the packed file cannot be unpacked"),
])
def test_a_file_that_is_none(text, match):
    refused(text, match)


def test_a_late_row_beyond_the_first_part_is_named():
    rows = "".join(f"2024-01-01 {i // 3600:02}:{i // 60 % 60:02}:{i % 60:02},{i}\n" for i in range(5000))
    columns = {"columns": ["x"]}
    refused("date,x\n" + rows + "2024-01-02,bad\n", "row 5002, column 'x': expected a number, got 'bad'", **columns)
    refused("date,x\n" + rows + "2024-01-02,1,5\n", "row 5002: the row has more than 2 cells", **columns)
    refused("date,x\n" + rows + '2024-01-02,"1\n', "row 5002: a quote that is opened in this row", **columns)


@pytest.mark.parametrize(("arguments", "match"), [
    ({"target": "X"}, "^target: there is no column 'X' in my.csv; expected one like 'date', 'x', 'y'$"),
    ({"columns": ["x", "z\n"]}, r"^columns: there is no column 'z\\n' in my.csv"),
    ({"columns": ["x", "x"]}, "^columns: expected every name once, got 'x', 'x'$"),
    ({"columns": "x"}, "^columns: expected a list of names, got the string 'x'$"),
    ({"columns": ["date"]}, "^columns, target: expected values, but 'date' holds the times$"),
    ({"columns": []}, "^my.csv: row 2: there is no column beside the times"),
    ({"date": "day"}, "^date: there is no column 'day' in my.csv; expected one like"),
    ({"date": "x"}, "^my.csv: row 2, column 'x': expected a time, got '1'"),
    ({"sep": "ab"}, "^sep: expected one character, got 'ab'$"),
    ({"decimal": "·"}, "^decimal: expected '.' or ',', got '·'$"),
    ({"missing": "mean"}, r"^missing: expected one of \['refuse', 'interpolate', 'last', 'zero'\], got 'mean'$"),
    ({"freq": "H"}, "^freq: expected a step that pandas knows, like '15min', .* got 'H'$"),
    ({"freq": "-1h"}, "^freq: expected a step that pandas knows"),
    ({"freq": "MS"}, "^my.csv: row 3: the time 2024-01-02 00:00:00 is no step of freq='MS'.*own step is 'D'"),
    ({"freq": "W-SUN"}, "^my.csv: row 2: the time 2024-01-01 00:00:00 is no step of freq='W-SUN'"),
    ({"encoding": "ascii64"}, "^encoding: expected one that Python knows, like 'gb18030', got 'ascii64'$"),
    ({"encoding": "hex"}, "^encoding: expected one that Python knows, like 'gb18030', got 'hex'$"),
    ({"encoding": "undefined"}, "^encoding: expected one that Python knows, like 'gb18030', got 'undefined'$"),
    ({"encoding": "utf-16"}, "^my.csv: encoding: expected one that reads the file, got 'utf-16'"),
])
def test_an_argument_that_does_not_fit(arguments, match):
    refused(ROWS.format("3,4"), match, **arguments)


def test_a_path_that_leads_nowhere_is_named_whole(tmp_path):
    deep = tmp_path.joinpath(*["a folder of a folder"] * 8)
    deep.mkdir(parents=True)
    with pytest.raises(FileNotFoundError) as caught:
        read_csv(deep / "none.csv")
    assert str(caught.value) == f"path: expected a CSV file, but there is no {str(deep / 'none.csv')!r}"
    with pytest.raises(IsADirectoryError) as caught:
        read_csv(deep)
    assert str(caught.value) == f"path: expected a CSV file, got the folder {str(deep)!r}"
    with pytest.raises(ValueError, match=r"^path: expected a file on this computer, got 'https://a.o"):
        read_csv("https://a.org/b.csv")
