/**
 * Joins the paragraphs of `format=flowed` text (RFC 3676) to one line each, with quotes marked by
 * `>`. A paragraph ends where the quote depth changes (section 4.5), and before a signature
 * (section 4.3). `delSp`: trailing spaces belong to the format (section 4.1).
 */
export function fromFlowed(text: string, delSp: boolean): string {
  const paragraphs: string[] = []
  let pieces: string[] = []
  let depth = 0
  const end = () => {
    if (pieces.length > 0) paragraphs.push(quoted(pieces.join(''), depth))
    pieces = []
  }
  for (const line of text.split('\n')) {
    const read = readLine(line)
    if (read.depth !== depth || read.text === SIGNATURE || read.text === '') end()
    depth = read.depth
    const isFlowed = read.text.endsWith(' ') && read.text !== SIGNATURE
    pieces.push(isFlowed && delSp ? read.text.slice(0, -1) : read.text)
    if (!isFlowed) end()
  }
  end()
  return paragraphs.join('\n')
}

const SIGNATURE = '-- '

/** The quote depth of a line, and its text without the space that stuffing adds (section 4.4). */
function readLine(line: string): { depth: number; text: string } {
  let depth = 0
  while (line[depth] === '>') depth++
  const rest = line.slice(depth)
  return { depth, text: rest.startsWith(' ') ? rest.slice(1) : rest }
}

function quoted(text: string, depth: number): string {
  if (depth > 0) return text === '' ? '>'.repeat(depth) : `${'>'.repeat(depth)} ${text}`
  // With a space, a line that starts with a literal `>` does not look like a quote.
  return text.startsWith('>') ? ` ${text}` : text
}
