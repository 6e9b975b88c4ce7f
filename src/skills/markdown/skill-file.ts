import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { visit } from 'unist-util-visit'

/** A prompt in pieces: what stands between its directives, and the directives. */
export type Prompt = readonly (
  | string
  | { directive: 'arg'; path: string }
  | { directive: 'session-history' }
)[]

/** `<context>` is for the model: between such tags code is code, too. */
const parser = unified()
  .data('micromarkExtensions', [{ disable: { null: ['htmlFlow', 'htmlText'] } }])
  .use(remarkParse)

/** As in remark-directive: `:name[…]`, or on a line or item of its own with more colons; not `10:30`, `std::vector[0]`, `\:name[…]`. */
const DIRECTIVE = /(?:(?<=^[ \t>*+-]*):{2,}|(?<![:\\]):)([A-Za-z][\w-]*)\[([^\]]*)\]/gm

/**
 * Reads the body of a `SKILL.md`: strips HTML comments, then finds `:arg[path]` and `:session-history[]`.
 * Code, fenced, indented or inline, stays as it is. What has the form of a directive (`:name[…]`) and is none is an
 * Error with its line; `bodyLine` is the line on which the body begins.
 */
export function compilePrompt(body: string, bodyLine = 1): Prompt {
  const text = stripComments(body, bodyLine)
  const codeAt = findCode(text)
  const pieces: Prompt[number][] = []
  let from = text.length - text.trimStart().length
  for (const { 0: whole, 1: name = '', 2: label = '', index } of text.matchAll(DIRECTIVE)) {
    if (codeAt(index)) continue
    pieces.push(text.slice(from, index), readDirective(name, label, bodyLine + linesIn(text.slice(0, index))))
    from = index + whole.length
  }
  pieces.push(text.slice(from).trimEnd())
  return pieces.filter((piece) => piece !== '')
}

function readDirective(name: string, label: string, line: number): Prompt[number] {
  if (name === 'session-history') return { directive: 'session-history' }
  if (name !== 'arg') {
    throw new Error(
      `line ${line}: there is no directive :${name}[…] (known: :arg[name], :session-history[]); ` +
        'what is no directive goes between backticks',
    )
  }
  const path = label.trim()
  if (!/^[\w-]+(\.[\w-]+)*$/.test(path)) {
    throw new Error(`line ${line}: :arg[…] takes a name or a dotted path, not "${label}"`)
  }
  return { directive: 'arg', path }
}

/** Removes HTML comments outside of code; lines stay where they are, so that later errors name the right ones. */
function stripComments(body: string, bodyLine: number): string {
  let text = body
  // Anew after each: what stands in a comment must not be taken for the beginning of code.
  for (let open = findComment(text, 0); open >= 0; open = findComment(text, open)) {
    const close = text.indexOf('-->', open + 4)
    if (close < 0) {
      const line = bodyLine + linesIn(text.slice(0, open))
      throw new Error(
        `line ${line}: a comment (<!--) is not closed; what is no comment goes between backticks`,
      )
    }
    const comment = text.slice(open, close + 3)
    text = text.slice(0, open) + '\n'.repeat(linesIn(comment)) + text.slice(close + 3)
  }
  return text
}

/** Where the next comment outside of code begins; -1: there is none. */
function findComment(text: string, from: number): number {
  let open = text.indexOf('<!--', from)
  if (open < 0) return open
  const codeAt = findCode(text)
  for (let code = codeAt(open); code; code = codeAt(open)) open = text.indexOf('<!--', code.end)
  return open
}

/** Tells in which code a place of the text is. */
function findCode(text: string) {
  const found: { start: number; end: number }[] = []
  visit(parser.parse(text), ['code', 'inlineCode'], ({ position }) => {
    found.push({ start: position?.start.offset ?? 0, end: position?.end.offset ?? 0 })
  })
  return (at: number) => found.find(({ start, end }) => at >= start && at < end)
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
