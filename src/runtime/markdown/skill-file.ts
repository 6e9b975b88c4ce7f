import { parse, postprocess, preprocess } from 'micromark'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { isJsonObject, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { nameSpec } from '../names.ts'
import { parseSettings } from '../onion.ts'

const frontMatter = z.looseObject({
  name: z.string().optional(),
  description: z.string({ error: 'a description is needed' }).min(1),
  'allowed-tools': nameSpec.optional(),
  model: z.union([z.string(), jsonObjectSchema]).optional(),
  metadata: jsonObjectSchema.nullish(),
})

/** Splits a `SKILL.md` into its YAML front matter and its prompt. Throws an Error with the line of what is wrong. */
export function parseSkillFile(text: string) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines[0]?.trimEnd() !== '---') throw new Error('line 1: it must begin with YAML front matter (---)')
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---')
  if (end < 0) throw new Error('line 1: the front matter is not closed with ---')
  const { name, description, metadata, ...known } = parseSettings(
    frontMatter,
    // An empty line in place of the first, so that errors name the lines of the file.
    parseYaml(`\n${lines.slice(1, end).join('\n')}`),
  )
  const { 'allowed-tools': allowed, model } = known
  /** With `allowed-tools` and `model` of the top level in it. */
  const all: JsonObject = { ...metadata, ...defined({ 'allowed-tools': allowed, model }) }
  // The body begins on that line of the file, from 1.
  return { name, description, metadata: all, body: lines.slice(end + 1).join('\n'), bodyLine: end + 2 }
}

function parseYaml(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) {
    const [message = ''] = error.message.split('\n')
    throw new Error(
      `line ${error.linePos?.[0].line ?? 1}: ${message.replace(/ at line \d+, column \d+:?$/, '')}`,
    )
  }
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  if (!isJsonObject(value)) throw new Error('line 2: the front matter must be a mapping')
  return value
}

/** A prompt in pieces: what stands between its directives, and the directives. */
export type Prompt = readonly (
  | string
  | { directive: 'arg'; path: string }
  | { directive: 'session-history' }
)[]

/** `<context>` is for the model: between such tags code is code, too. */
const SYNTAX = { extensions: [{ disable: { null: ['htmlFlow', 'htmlText'] } }] }

/** As in remark-directive: `:name[…]`, or on a line or item of its own with more colons; not `10:30`, `std::vector[0]`, `\:name[…]`. */
const DIRECTIVE = /(?:(?<=^[ \t>*+-]*):{2,}|(?<![:\\]):)([A-Za-z][\w-]*)\[([^\]]*)\]/gm

/** Strips HTML comments, then finds directives; code stays. Another `:name[…]` is an Error with its line, from `bodyLine` on. */
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
  const events = postprocess(
    parse(SYNTAX)
      .document()
      .write(preprocess()(text, undefined, true)),
  )
  const found = events
    .filter(([kind, { type }]) => kind === 'enter' && /^code(Fenced|Indented|Text)$/.test(type))
    .map(([, { start, end }]) => ({ start: start.offset, end: end.offset }))
  return (at: number) => found.find(({ start, end }) => at >= start && at < end)
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
