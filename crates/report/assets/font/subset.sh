#!/bin/sh
# Makes DejaVuSans-latin.ttf and LICENSE.txt anew: ./subset.sh [DejaVuSans.ttf]
# Needs fontTools (`pip install fonttools`); made with 4.68 from Debian's fonts-dejavu-core 2.37.
#
# No hinting (images are drawn at twice the size), no kerning and no ligatures (the width of a text is the sum of the
# advances of its letters, in the layout as in what draws it). All names stay: they carry copyright and licence.
set -eu
cd "$(dirname "$0")"
font=${1:-/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf}

latin='U+0020-007E,U+00A0-017F,U+0218-021B'
greek='U+0394,U+03A3,U+03BC,U+03C3'
punctuation='U+2010-2015,U+2018-201A,U+201C-201E,U+2020-2022,U+2026,U+2030,U+2032,U+2033,U+2039,U+203A'
signs='U+20AC,U+2122,U+2190-2193,U+2212,U+221E,U+2248,U+2260,U+2264,U+2265,U+25C6,U+25C7,U+25CF,U+2713,U+2717,U+FFFD'

pyftsubset "$font" --output-file=DejaVuSans-latin.ttf --unicodes="$latin,$greek,$punctuation,$signs" \
    --layout-features='' --no-hinting --notdef-outline --name-IDs='*' --name-legacy \
    --drop-tables+=GPOS,GSUB,GDEF,kern,DSIG,FFTM,MATH

python3 - <<'PYTHON' >LICENSE.txt
from fontTools.ttLib import TTFont

names = TTFont("DejaVuSans-latin.ttf")["name"]
lines = "\n\n".join(names.getDebugName(number) for number in (0, 13)).splitlines()
print("\n".join(line.rstrip() for line in lines))
PYTHON
