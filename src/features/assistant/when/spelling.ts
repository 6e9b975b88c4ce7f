/** Spellings that the library does not know, each with one that it knows. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/(?<!\S)@\s*(?=\d|noon|mid)/gi, 'at '],
  [/\s+[–—]\s+(?=\d{1,2}(?::\d\d|\s*[ap]\.?m\b))/gi, ', '],
  [/\bmidday\b/gi, 'noon'],
  [/^\s*at\s+(?=noon\b)/gi, ''],
  [/(?<!the\s+)\bday after tomorrow\b/gi, 'the day after tomorrow'],
  [/(?<=\bin\s+)(?:a|one) fortnight\b/gi, '2 weeks'],
  [/(?<=\bin\s+)(?:an|one) hour and a half\b/gi, '1.5 hours'],
  [/(?<=\bin\s+)(?:one|1) and a half(?=\s+(?:hour|day)s?\b)/gi, '1.5'],
  [/(?<=\bin\s+)(?:two|2) and a half(?=\s+(?:hour|day)s?\b)/gi, '2.5'],
  [/(?<=\bin\s+)(?:three|3) and a half(?=\s+(?:hour|day)s?\b)/gi, '3.5'],
  [/(?<=\d)\s*½/g, '.5'],
  [/½/g, 'half'],
  [/(?<=\bin\s+)three quarters of an hour\b/gi, '45 minutes'],
  [/(?<=\bin\s+)(?:a\s+)?quarter of an hour\b/gi, '15 minutes'],
]

type Replaced = { from: number; to: number; by: string }

/** Replaces the spellings. `originOf` turns an index in the result into one in `text`. */
export function spell(text: string): { spelled: string; originOf(index: number): number } {
  const all: Replaced[] = []
  for (const [pattern, by] of SPELLINGS) {
    for (const { 0: found, index } of text.matchAll(pattern)) {
      const to = index + found.length
      if (all.every((other) => to <= other.from || other.to <= index)) all.push({ from: index, to, by })
    }
  }
  all.sort((a, b) => a.from - b.from)
  let spelled = ''
  let last = 0
  for (const { from, to, by } of all) {
    spelled += text.slice(last, from) + by
    last = to
  }
  return { spelled: spelled + text.slice(last), originOf: (index) => originIn(all, index) }
}

/**
 * The index in the original text. For an index within a replacement: the end of what it replaced.
 */
function originIn(all: readonly Replaced[], index: number): number {
  let shift = 0
  for (const { from, to, by } of all) {
    const start = from + shift
    if (index <= start) break
    if (index < start + by.length) return to
    shift += by.length - (to - from)
  }
  return index - shift
}
