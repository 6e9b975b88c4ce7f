import { escapeUnpainted, keepPainted } from '../../lib/paint.ts'
import { lengthOf } from '../../lib/paragraph.ts'

/** Cuts a line to the width of the terminal, with `…` as its last character; keeps its colours. */
export function cutLine(line: string, width: number): string {
  const safe = escapeUnpainted(line)
  if (lengthOf(safe) <= width) return safe
  let room = width - 1
  const cut = safe
    .split(SEQUENCES)
    .map((part, index) => {
      if (index % 2 === 1 || room === 0) return index % 2 === 1 ? part : ''
      const text = part.slice(0, room)
      room -= text.length
      return room === 0 ? `${text}…` : text
    })
    .join('')
  keepPainted(cut)
  return cut
}

/** Sequences of colours; `split` puts them at the odd places. */
const SEQUENCES = /(\p{Cc}\[\d+m)/u
