/** Texts with a larger product of line counts are not compared line by line. */
const LARGEST = 4_000_000

/**
 * The difference between two texts: `[{ kind, line, before?, after? }]`, where `kind` is `same`,
 * `removed` or `added`, and the numbers are line numbers.
 */
export function diffOf(old, next) {
  const [a, b] = [linesOf(old), linesOf(next)]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const same = (from, many, by) =>
    Array.from({ length: many }, (_, at) => ({
      kind: 'same',
      line: a[from + at],
      before: from + at + 1,
      after: from + at + 1 + by,
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

/** By longest common subsequence. */
function changed(a, b, offset) {
  const removed = (at) => ({ kind: 'removed', line: a[at], before: offset + at + 1 })
  const added = (at) => ({ kind: 'added', line: b[at], after: offset + at + 1 })
  if (a.length * b.length > LARGEST) return [...a.map((_, at) => removed(at)), ...b.map((_, at) => added(at))]
  const longest = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] =
        a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1])
  const found = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j])
      found.push({ kind: 'same', line: a[i], before: offset + i++ + 1, after: offset + j++ + 1 })
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1]))
      found.push(removed(i++))
    else found.push(added(j++))
  }
  return found
}

/** The changed lines with `many` lines of context; `{ kind: 'skipped', many }` stands for the others. */
export function around(lines, many = 3) {
  const isNear = (at) =>
    lines.slice(Math.max(0, at - many), at + many + 1).some(({ kind }) => kind !== 'same')
  const found = []
  for (const [at, line] of lines.entries()) {
    if (isNear(at)) found.push(line)
    else if (found.at(-1)?.kind === 'skipped') found.at(-1).many++
    else found.push({ kind: 'skipped', many: 1 })
  }
  return found
}
