# What every chart shares: CSV by column name, a palette that colour-blind readers can tell
# apart (Okabe and Ito), room for the legend, no interpretation of the user's text.
set datafile separator ','
set datafile columnheaders
set datafile commentschars ''
set encoding utf8
set termoption noenhanced
array colour[8] = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', \
                   '#E69F00', '#56B4E9', '#7F7F7F', '#000000']
array mark[8] = [7, 5, 9, 11, 13, 15, 6, 4]
# a category of memory has one colour, whatever stands beside it
category(n) = \
    n eq 'weights' ? '#0072B2' : n eq 'gradients' ? '#56B4E9' : n eq 'master' ? '#00416A' : \
    n eq 'optimizer' ? '#88A9C3' : n eq 'kv_cache' ? '#CC79A7' : \
    n eq 'checkpoint' ? '#F0E442' : n eq 'activation' ? '#E69F00' : \
    n eq 'attention' ? '#D55E00' : n eq 'dispatch' ? '#009E73' : \
    n eq 'expert' ? '#7BCBB0' : n eq 'logits' ? '#882255' : n eq 'workspace' ? '#7F7F7F' : \
    n eq 'communication' ? '#332288' : n eq 'metadata' ? '#4D4D4D' : n eq 'mask' ? '#B5651D' : \
    n eq 'runtime' ? '#A6CE39' : '#BBBBBB'
# and the name that the field and the first screen have for it
term(n) = n eq 'checkpoint' ? 'saved layer inputs' : n eq 'kv_cache' ? 'KV cache' : n
# so has a part of the step's time; attention and optimizer are those of memory
part(n) = \
    n eq 'products' ? '#0072B2' : n eq 'elementwise' ? '#E69F00' : n eq 'moves' ? '#F0E442' : \
    n eq 'exchange' ? '#009E73' : n eq 'tensor' ? '#56B4E9' : n eq 'sharding' ? '#CC79A7' : \
    n eq 'pipeline' ? '#882255' : n eq 'host' ? '#7F7F7F' : n eq 'fixed' ? '#BBBBBB' : \
    category(n)
c(i) = colour[(i - 1) % 8 + 1]
m(i) = mark[(i - 1) % 8 + 1]
dash(i) = (i - 1) / 8 % 3 + 1
letter(i) = 'abcdefghijklmnopqrstuvwxyz'[(i - 1) % 26 + 1:(i - 1) % 26 + 1]
capital(i) = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[(i - 1) % 26 + 1:(i - 1) % 26 + 1]
shade(v) = v eq 'fits' ? '#A9D5F0' : v eq 'marginal' ? '#F7E7A6' : v eq 'oom' ? '#E99B72' \
    : '#E6E6E6'
meaning(v) = v eq 'oom' ? 'does not fit' : v eq 'invalid' ? 'breaks a rule' : v
gib = 1024.0 ** 3
set border 3 linewidth 0.8
if (!on_terminal) {
    set tics nomirror out scale 0.6
    set grid ytics linetype 1 linewidth 0.4 linecolor '#DDDDDD'
    set key outside right top vertical Left reverse samplen 2 spacing 1.2
    # from the left edge of the picture: beside a wide legend a centred one would be cut
    # some 95 letters are as wide as the picture
    letters = strlen(title_text)
    title_size = letters > 92 ? 17 * 92 / letters : 17
    set label 99 title_text at screen 0.012, screen 0.968 left font sprintf(',%d', title_size)
    set label 1 source_text at screen 0.012, screen 0.018 left font ',9' \
        textcolor '#666666'
    set bmargin 5.2
    set tmargin 4
} else {
    set tics nomirror scale 0
    set key outside center bottom horizontal Left reverse samplen 1 width 2
    set title title_text
}
