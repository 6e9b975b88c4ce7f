/** Texts with a larger product of line counts are not compared line by line. */
const MAX_PRODUCT = 4_000_000

/**
 * The difference between two texts: `[{ kind, line, before?, after? }]`, where `kind` is `same`,
 * `removed` or `added`, and the numbers are line numbers.
 */
export function diffOf(old, next) {
  const a = linesOf(old)
  const b = linesOf(next)
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  /** `count` equal lines from the index `from`, which are moved by `shift` lines. */
  const same = (from, count, shift) =>
    Array.from({ length: count }, (_, index) => ({
      kind: 'same',
      line: a[from + index],
      before: from + index + 1,
      after: from + index + 1 + shift,
    }))
  return [
    ...same(0, start, 0),
    ...changed(a.slice(start, a.length - end), b.slice(start, b.length - end), start),
    ...same(a.length - end, end, b.length - a.length),
  ]
}

function linesOf(text) {
  return text.replace(/\n$/, '').split('\n')
}

/**
 * The difference of the middle parts, by longest common subsequence. `offset`: number of equal
 * lines before them.
 */
function changed(a, b, offset) {
  const removed = (at) => ({ kind: 'removed', line: a[at], before: offset + at + 1 })
  const added = (at) => ({ kind: 'added', line: b[at], after: offset + at + 1 })
  if (a.length * b.length > MAX_PRODUCT)
    return [...a.map((_, at) => removed(at)), ...b.map((_, at) => added(at))]
  /** `longest[i][j]`: length of the longest common subsequence of the lines from `i` and `j` on. */
  const longest = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] =
        a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1])
  const found = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j])
      found.push({ kind: 'same', line: a[i], before: offset + i++ + 1, after: offset + j++ + 1 })
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1]))
      found.push(removed(i++))
    else found.push(added(j++))
  }
  return found
}

/**
 * The changed lines with `context` lines around them; `{ kind: 'skipped', many }` stands for `many`
 * others.
 */
export function around(lines, context = 3) {
  const isNear = (at) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ kind }) => kind !== 'same')
  const found = []
  for (const [at, line] of lines.entries()) {
    if (isNear(at)) found.push(line)
    else if (found.at(-1)?.kind === 'skipped') found.at(-1).many++
    else found.push({ kind: 'skipped', many: 1 })
  }
  return found
}
