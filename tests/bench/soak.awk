# The drifts of the rows of soak.sh, and whether they are within the limits. first: the resident size at the end of the first text, in KiB. With
# a library: room, the records that fit, made, those that were made, and cap, its bytes; without, 0. Rows with fewer records than room do not count.
# Drift of the resident size: the last row against the first one that counts. Of the processor time a token and of the speed: the mean of the
# second half of the rows against that of the first half. The processor time is judged in relation to that of the control. The speed by the
# clock is not judged, because it depends on the other programs of the machine.
# A library may take its size and a quarter until it is full: blocks that are freed while it doubles cannot always be used again.
BEGIN { FS = "\t"; least = 4 }
$8 < room { next }
{ n++; speed[n] = $3; cpu[n] = $4; control[n] = $5; ratio[n] = $5 > 0 ? $4 / $5 : 0; size[n] = $6; texts = $7 }
function half(v,    i, a, b) {
    for (i = 1; i <= n; i++) if (2 * i <= n) a += v[i]; else if (2 * i > n + n % 2) b += v[i]
    return a > 0 ? b / a - 1 : 0
}
function within(x, most) { return x <= most && x >= -most }
END {
    if (n < least) { printf "soak: %d rows count, fewer than %d\n", n, least > "/dev/stderr"; exit 1 }
    s = size[n] / size[1] - 1; c = half(ratio); grown = size[1] - first
    printf "drift\trows %d\tspeed %+.2f %%\tprocessor time %+.2f %%\tthat of the control %+.2f %%\tof one to the other %+.2f %%\tresident size %+.2f %%\ttexts %d, all the same\n",
        n, 100 * half(speed), 100 * half(cpu), 100 * half(control), 100 * c, 100 * s, texts
    if (room > 0) printf "library\t%d records made, %d fit\tresident size from the first text to the full library %+d KiB\tits bytes %d KiB\n", made, room, grown, cap / 1024
    exit !(texts >= 1 && ratio[1] > 0 && within(s, .01) && within(c, .05) && (room == 0 || 1024 * (grown - .01 * first) <= 1.25 * cap))
}
