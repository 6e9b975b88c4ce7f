import { readFile, readlink } from 'node:fs/promises'
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { fileReason, reasonOf } from '../core/errors.ts'
import { isMissing } from '../lib/disk.ts'
import { shownPath } from '../lib/shown-path.ts'
import { createRedactor } from './environment.ts'
import { shownSource } from './shown-source.ts'

/** A problem in the configuration. `line` and `column` count from 1; absent for the environment. */
export type Problem = {
  severity: 'error' | 'warning'
  /** For display: a path relative to the working directory, `environment`, or a skill. */
  file: string
  line?: number
  column?: number
  message: string
  /** The source line without secrets, with a caret under the place. */
  excerpt?: string
}

export type Path = readonly PropertyKey[]

/** A parsed YAML file that maps paths to places. */
export type YamlFile = NonNullable<Awaited<ReturnType<typeof readYaml>>['yaml']>

/** Longer texts are not taken for a variable. */
const LONGEST_VARIABLE = 200

/** Clearer texts for parser errors, by their code. */
const MESSAGES: Record<string, string> = {
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot start in the middle of a line; is a ": " in an unquoted text?',
  TAG_RESOLVE_FAILED: 'unknown tag; quote a text that begins with "!"',
  DUPLICATE_KEY: 'this key exists above already: write each key once',
  MULTIPLE_DOCS: 'the file must contain only one document',
}

/** Reads YAML 1.2 (with `<<` merges). Returns all errors as problems instead of throwing. */
export async function readYaml(path: string, cwd: string) {
  const file = shownPath(cwd, path)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    const message = isMissing(error) ? await missingFile(path) : `cannot be read: ${fileReason(error)}`
    return { problems: [{ severity: 'error', file, message } satisfies Problem] }
  }
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, merge: true, prettyErrors: false, logLevel: 'error' })
  const hide = createRedactor(() => document.toJS())
  const problemAt = (offset: number, message: string, severity: Problem['severity'] = 'error'): Problem => {
    const { line, col } = lineCounter.linePos(offset)
    const source = text.slice(offset - (col - 1)).split(/\r?\n/, 1)[0] ?? ''
    const caret = `${hide(source.slice(0, col - 1)).replaceAll(/[^\t]/g, ' ')}^`
    const excerpt = `  ${line} | ${hide(source)}\n  ${' '.repeat(String(line).length)} | ${caret}`
    return { severity, file, line, column: col, message, excerpt }
  }
  const syntax = [...document.errors, ...document.warnings].map(({ code, message, pos }) => {
    // The parser quotes block headers, which may be secrets that start with `|`.
    const plain =
      message.charAt(0).toLowerCase() + message.slice(1).replace(/( characters| token): .*/s, '$1')
    return problemAt(pos[0], unquotedVariable(text, pos[0]) ?? unclosed(message) ?? MESSAGES[code] ?? plain)
  })
  visit(document, {
    Alias(_, node) {
      const message = 'there is no such anchor before this; quote a text that begins with "*"'
      if (!node.resolve(document)) syntax.push(problemAt(startOf(node), message))
    },
    // As in JSON, a number that a double cannot represent becomes a string.
    Scalar(key, node) {
      const { value, source = '' } = node
      if (key !== 'key' && isLongInteger(value) && /^[-+]?\d+$/.test(source)) node.value = source
    },
  })
  const [first, ...others] = inLines(syntax)
  if (first) return { problems: [withFollowing(first, others)] }
  const problems: Problem[] = []
  try {
    const offsetOf = (path: Path, what: 'key' | 'value') => findOffset(document, path, what)
    return {
      problems,
      yaml: {
        value: document.toJS(),
        /** The file for display: the same lines, without secrets. */
        shown: () => shownSource(text, document),
        /** A problem at the key or value of a path, or at the nearest existing parent. */
        problem: (path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']) =>
          problemAt(offsetOf(path, what), message, severity),
        lineOf: (path: Path) => lineCounter.linePos(offsetOf(path, 'key')).line,
      },
    }
  } catch (error) {
    // An invalid merge, or an alias bomb.
    return { problems: [{ severity: 'error', file, message: reasonOf(error) } satisfies Problem] }
  }
}

/** The first problem of each line, in the order of the lines. */
function inLines(problems: readonly Problem[]): Problem[] {
  const byLine = Map.groupBy(problems, ({ line = 0 }) => line)
  return [...byLine].sort(([a], [b]) => a - b).flatMap(([, [first]]) => first ?? [])
}

/** A mistake in the syntax, such as a missing bracket, causes others below: these may be no mistakes. */
function withFollowing(problem: Problem, others: readonly Problem[]): Problem {
  const lines = others.flatMap(({ line }) => line ?? [])
  if (lines.length === 0) return problem
  const places = `${lines.length === 1 ? 'line' : 'lines'} ${lines.slice(0, MOST_LINES).join(', ')}`
  const more = lines.length > MOST_LINES ? ' …' : ''
  return { ...problem, message: `${problem.message} (what follows, ${places}${more}, may be due to this)` }
}

/** Maximum number of lines that are named. */
const MOST_LINES = 5

/**
 * The message for an error at an unquoted variable in `{ … }` or `[ … ]`, whose brace YAML reads as
 * a mapping; undefined for other errors. `offset` is the position of the brace.
 */
function unquotedVariable(text: string, offset: number): string | undefined {
  const [variable] = /^\$\{[^}\n]*\}/.exec(text.slice(offset - 1, offset + LONGEST_VARIABLE)) ?? []
  return variable && `inside { … } and [ … ], quote the variable: "${variable}"`
}

/** The message for a line inside a bracket that is not closed above. */
function unclosed(message: string): string | undefined {
  const [, kind] = /^Flow (map|sequence) in block collection must be/.exec(message) ?? []
  const bracket = kind === 'map' ? '"{"' : '"["'
  return kind && `a ${bracket} above is not closed, or this line must be indented more`
}

/** Formats problems: place and message, then the source line. */
export function formatProblems(problems: readonly Problem[]): string {
  const texts = problems.map(({ file, line, column, message, excerpt, severity }) => {
    const place = line === undefined ? file : `${file}:${line}:${column}`
    const kind = severity === 'warning' ? 'warning: ' : ''
    return `${place}  ${kind}${message}${excerpt === undefined ? '' : `\n${excerpt}`}`
  })
  return texts.join('\n')
}

/**
 * The offset of the key or value at a path; of the nearest parent if it is missing. Follows
 * aliases.
 */
function findOffset(document: ReturnType<typeof parseDocument>, path: Path, what: 'key' | 'value'): number {
  let found: unknown = document.contents
  let offset = { key: 0, value: startOf(found) }
  for (const step of path) {
    const parent = isAlias(found) ? found.resolve(document) : found
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      : { key: undefined, value: isSeq(parent) ? parent.items[Number(step)] : undefined }
    if (!pair || (pair.key === undefined && pair.value === undefined)) return offset.value
    found = pair.value
    const value = startOf(found)
    offset = { key: isNode(pair.key) ? startOf(pair.key) : value, value }
  }
  return offset[what]
}

/** Whether a number may have lost digits. */
function isLongInteger(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0
}

/** The error for a missing file, which may be a dangling link. */
async function missingFile(path: string): Promise<string> {
  const target = await readlink(path).catch(() => undefined)
  if (target !== undefined) return `this is a link to ${target}, which does not exist; fix or remove the link`
  return 'there is no such file; `trivium init` creates one, and TRIVIUM_CONFIG selects another'
}
