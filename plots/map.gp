# Frontier map: two keys, the verdict as colour, GiB in the cells.
# Variables: x_key, x_title, x_values[], y_key, y_title, y_values[].
set xlabel x_title
set ylabel y_title
set style fill solid 1 noborder
unset grid
set key outside right top
x_of(value) = sum [i=1:n_x_values] (x_values[i] eq value ? i : 0)
y_at(value) = sum [i=1:n_y_values] (y_values[i] eq value ? i : 0)
cell_x(unused) = x_of(strcol(x_key))
cell_y(unused) = y_at(strcol(y_key))
set xrange [0.5:n_x_values + 0.5]
set yrange [0.5:n_y_values + 0.5]
set xtics ()
set ytics ()
set for [i=1:n_x_values] xtics add (x_values[i] i)
set for [i=1:n_y_values] ytics add (y_values[i] i)
array verdicts[4] = ['fits', 'marginal', 'oom', 'invalid']
array shade[4] = ['#A6D8C8', '#F6E3A1', '#F0B392', '#E6E6E6']
array meaning[4] = ['fits', 'marginal', 'does not fit', 'breaks a rule']
y_of(v) = strcol('verdict') eq v ? cell_y(0) : NaN
label_of(unused) = strcol('verdict') eq 'invalid' ? '' \
    : sprintf('%.0f', column('total_bytes') / gib)
font_size = n_x_values > 24 || n_y_values > 24 ? 7 : 11
plot for [i=1:4] data using (cell_x(0)):(y_of(verdicts[i])):(0.48):(0.48) with boxxyerror \
         linecolor rgb shade[i] title meaning[i], \
     data using (cell_x(0)):(cell_y(0)):(label_of(0)) with labels \
         font sprintf(',%d', font_size) notitle
