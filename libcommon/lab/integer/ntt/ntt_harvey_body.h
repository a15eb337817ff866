/* Harvey's butterflies of values below 2 q. A file defines V, K with q and two, TW, ADD(a, b), SUB(a, b),
 * once(x, q) = x - q if x >= q, and times(k, t, x), Shoup's product below 2 q. */
INLINE void forward_pair(const K *k, TW t, V *x, V *y)
{
    const V a = once(*x, k->two), b = times(k, t, *y);
    *x = ADD(a, b);
    *y = ADD(SUB(a, b), k->two);
}
INLINE void inverse_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = once(ADD(a, b), k->two);
    *y = times(k, t, ADD(SUB(a, b), k->two));
}
INLINE void inverse_last(const K *k, TW n, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = once(times(k, n, ADD(a, b)), k->q);
    *y = once(times(k, t, ADD(SUB(a, b), k->two)), k->q);
}
INLINE V settle(const K *k, V x)
{
    (void)k;
    return x;
}
INLINE V inverse_settle(const K *k, V x) { return settle(k, x); }
INLINE V canonical(const K *k, V x) { return once(once(x, k->two), k->q); }
