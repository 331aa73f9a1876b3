# Predicted against measured, both axes logarithmic, with the identity line and 1.25x around it.
# Variables: families[], unit, low, high (of both axes).
set logscale xy
set format x '%g'
set format y '%g'
# decades alone would leave one number or two on axes that are short
if (high < 200 * low) {
    step(i) = 10.0 ** (floor(log10(low)) + i / 3) * (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 5)
    set xtics ()
    set ytics ()
    set for [i=0:11] xtics add (sprintf('%g', step(i)) step(i))
    set for [i=0:11] ytics add (sprintf('%g', step(i)) step(i))
}
set xlabel sprintf('measured, %s', unit)
set ylabel sprintf('predicted, %s', unit)
set xrange [low:high]
set yrange [low:high]
set samples 200
of(i) = strcol('family') eq families[i] ? column('predicted') : NaN
if (on_terminal) {
    set ylabel
    plot x with points pointtype '.' title 'identity', \
         for [i=1:n_families] data using (column('published')):(of(i)) with points \
             pointtype letter(i) title families[i]
    exit
}
set grid xtics ytics linetype 1 linewidth 0.4 linecolor '#DDDDDD'
plot for [i=1:n_families] data using (column('published')):(of(i)) with points \
         linecolor rgb c(i) pointtype 7 pointsize 0.35 notitle, \
     x with lines linecolor rgb '#000000' linewidth 1.4 title 'identity', \
     x * 1.25 with lines linecolor rgb '#7F7F7F' dashtype 2 title '25 % off', \
     x / 1.25 with lines linecolor rgb '#7F7F7F' dashtype 2 notitle, \
     for [i=1:n_families] keyentry with points linecolor rgb c(i) pointtype 7 pointsize 1.2 \
         title families[i]
