/** A value must be this many times higher than the others to be cut off. */
const OUTLIER_FACTOR = 4
/** Share of all values that may be outliers. */
const OUTLIER_SHARE = 0.05
/** This many values may be outliers; of fewer than `FEW_VALUES` values, only one. */
const MIN_OUTLIERS = 2
const FEW_VALUES = 6

/**
 * The upper end of a scale on which a short burst does not flatten everything else; undefined if
 * the highest value fits. The caller marks values above it.
 */
export function capOf(values) {
  const sorted = values.filter((value) => value > 0).toSorted((a, b) => b - a)
  const outliers =
    sorted.length < FEW_VALUES ? 1 : Math.max(MIN_OUTLIERS, Math.ceil(sorted.length * OUTLIER_SHARE))
  const usual = sorted[outliers]
  return usual !== undefined && sorted[0] > OUTLIER_FACTOR * usual ? 2 * usual : undefined
}

/**
 * The upper end of the scale of a chart, at least `least`. `isCut`: whether a burst is cut off. The
 * `present` values always fit.
 */
export function topOf(values, { least, isCut, present = [] }) {
  const cap = isCut && capOf(values)
  return Math.max(1.15 * Math.max(0, ...(cap ? present : values)), cap || 0, least)
}

/** The highest of marks (`{ from, to, value }`) whose labels do not overlap. */
export function highestApart(marks) {
  const kept = []
  for (const mark of marks.toSorted((a, b) => b.value - a.value))
    if (kept.every(({ from, to }) => mark.to <= from || mark.from >= to)) kept.push(mark)
  return kept
}

/** The other marks whose triangles, `size` wide to each side of `x`, are under no label. */
export function besideLabels(marks, labelled, size) {
  const isFree = ({ x }) => labelled.every(({ from, to }) => x + size <= from || x - size >= to)
  return marks.filter((mark) => !labelled.includes(mark) && isFree(mark))
}
