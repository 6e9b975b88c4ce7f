import remarkDirective from 'remark-directive'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { visit } from 'unist-util-visit'

/** A prompt in pieces: what stands between its directives, and the directives. */
export type Prompt = readonly (
  | string
  | { directive: 'arg'; path: string }
  | { directive: 'session-history' }
)[]

/**
 * A prompt is read by a model, not by a browser: `<context>` and links are prose in which directives count. Only code is
 * what markdown says.
 */
const PROSE = [
  'htmlFlow',
  'htmlText',
  'autolink',
  'definition',
  'labelStartLink',
  'labelStartImage',
  'labelEnd',
]

const parser = unified()
  .data('micromarkExtensions', [{ disable: { null: PROSE } }])
  .use(remarkParse)
  .use(remarkDirective)

/**
 * Reads the body of a `SKILL.md`: strips HTML comments, then finds `:arg[path]` and `:session-history[]`.
 * Code, fenced, indented or inline, stays as it is. What has the form of a directive (`:name[…]`) and is none is an
 * Error with its line; `bodyLine` is the line on which the body begins.
 */
export function compilePrompt(body: string, bodyLine = 1): Prompt {
  const text = stripComments(body, bodyLine)
  const pieces: Prompt[number][] = []
  let from = text.length - text.trimStart().length
  visit(parser.parse(text), (node) => {
    if (!('name' in node) || !/^(text|leaf|container)Directive$/.test(node.type)) return
    const [start, end] = spanOf(node)
    const [whole = '', name = '', label] = DIRECTIVE.exec(text.slice(start, end)) ?? []
    // `10:30`, `std::vector`, `build:prod`: prose, not a directive.
    if (label === undefined) return
    pieces.push(text.slice(from, start), readDirective(name, label, bodyLine + linesIn(text.slice(0, start))))
    from = start + whole.length
  })
  pieces.push(text.slice(from).trimEnd())
  return pieces.filter((piece) => piece !== '')
}

const DIRECTIVE = /^:+([A-Za-z][\w-]*)\[([^\]]*)\]/

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
  visit(parser.parse(text), ['code', 'inlineCode'], (node) => {
    const [start, end] = spanOf(node)
    if (open >= start && open < end) open = text.indexOf('<!--', end)
  })
  return open
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}

type Place = { offset?: number | undefined }

function spanOf({ position }: { position?: { start: Place; end: Place } | undefined }): [number, number] {
  return [position?.start.offset ?? 0, position?.end.offset ?? 0]
}
