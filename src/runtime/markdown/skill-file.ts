import { createRequire } from 'node:module'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { isJsonObject, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { nameSpec } from '../names.ts'
import { parseSettings } from '../parse-settings.ts'

const require = createRequire(import.meta.url)

const frontMatter = z.looseObject({
  name: z.string().optional(),
  description: z.string({ error: 'the description is missing' }).min(1),
  'allowed-tools': nameSpec.optional(),
  model: z.union([z.string(), jsonObjectSchema]).optional(),
  metadata: jsonObjectSchema.nullish(),
})

/**
 * Splits a `SKILL.md` into YAML front matter and prompt. Throws an Error with the line of the
 * mistake.
 */
export function parseSkillFile(text: string) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines[0]?.trimEnd() !== '---') throw new Error('line 1: it must begin with YAML front matter (---)')
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---')
  if (end < 0) throw new Error('line 1: the front matter is not closed with ---')
  const { name, description, metadata, ...topLevel } = parseSettings(
    frontMatter,
    // An empty line stands for line 1 (---), so that errors have the line numbers of the file.
    parseYaml(`\n${lines.slice(1, end).join('\n')}`),
  )
  const { 'allowed-tools': allowed, model } = topLevel
  /** Includes `allowed-tools` and `model` of the top level. */
  const all: JsonObject = { ...metadata, ...defined({ 'allowed-tools': allowed, model }) }
  // `bodyLine`: number of the first line of the body, counted from 1.
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

/** A prompt split into text and directives. */
export type Prompt = readonly (
  | string
  | { directive: 'arg'; path: string }
  | { directive: 'session-history' }
)[]

/** HTML is off, because tags such as `<context>` are for the model: code inside them stays code. */
const SYNTAX = { extensions: [{ disable: { null: ['htmlFlow', 'htmlText'] } }] }

/**
 * As in remark-directive: `:name[…]`, or with more colons at the start of a line or list item; not
 * `10:30`, `std::vector[0]` or `\:name[…]`.
 */
const DIRECTIVE = /(?:(?<=^[ \t>*+-]*):{2,}|(?<![:\\]):)([A-Za-z][\w-]*)\[([^\]]*)\]/gm

/**
 * Removes HTML comments, then finds directives outside code. Throws for an unknown `:name[…]`, with
 * its line (counted from `bodyLine`).
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
        'put it into backticks if it is not a directive',
    )
  }
  const path = label.trim()
  if (!/^[\w-]+(\.[\w-]+)*$/.test(path)) {
    throw new Error(`line ${line}: :arg[…] takes a name or a dotted path, not "${label}"`)
  }
  return { directive: 'arg', path }
}

/** Removes HTML comments outside code but keeps line ends, so that line numbers stay right. */
function stripComments(body: string, bodyLine: number): string {
  let text = body
  // Finds code again after each removal: a comment may have contained what looks like its start.
  for (let open = findComment(text, 0); open >= 0; open = findComment(text, open)) {
    const close = text.indexOf('-->', open + 4)
    if (close < 0) {
      const line = bodyLine + linesIn(text.slice(0, open))
      throw new Error(
        `line ${line}: a comment (<!--) is not closed; put it into backticks if it is not a comment`,
      )
    }
    const comment = text.slice(open, close + 3)
    text = text.slice(0, open) + '\n'.repeat(linesIn(comment)) + text.slice(close + 3)
  }
  return text
}

/** The start of the next comment outside code, or -1. */
function findComment(text: string, from: number): number {
  let open = text.indexOf('<!--', from)
  if (open < 0) return open
  const codeAt = findCode(text)
  let code = codeAt(open)
  while (code) {
    open = text.indexOf('<!--', code.end)
    code = codeAt(open)
  }
  return open
}

/** Every code section starts with one of these. */
const CODE_MARK = /[`\t]|~~~| {4}/

/**
 * Makes a function that returns the code section at an index; undefined outside code, and for -1.
 */
function findCode(text: string) {
  const first = text.search(CODE_MARK)
  let sections: ReturnType<typeof sectionsOf> | undefined
  return (at: number) => {
    // There is no code before the first mark, so most prompts need no parser.
    if (first < 0 || at < first) return undefined
    sections ??= sectionsOf(text)
    return sections.find(({ start, end }) => at >= start && at < end)
  }
}

function sectionsOf(text: string) {
  // Loaded on first use: it takes 4 MB.
  const { parse, postprocess, preprocess }: typeof import('micromark') = require('micromark')
  const events = postprocess(
    parse(SYNTAX)
      .document()
      .write(preprocess()(text, undefined, true)),
  )
  return events
    .filter(([kind, { type }]) => kind === 'enter' && /^code(Fenced|Indented|Text)$/.test(type))
    .map(([, { start, end }]) => ({ start: start.offset, end: end.offset }))
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
