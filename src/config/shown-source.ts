import { type Document, isPair, isScalar as isScalarNode, isSeq, Lexer, type Scalar, visit } from 'yaml'
import { withMaskedSecrets } from './environment.ts'

/**
 * The text of a YAML file with secrets masked as `withMaskedSecrets` does, and without the content
 * of comments, which could contain secrets. Keeps the line numbers.
 */
export function shownSource(text: string, document: Document): string {
  const masked = withMaskedSecrets(document.toJS())
  const changes = commentsIn(text).map((range) => ({ ...range, text: '# …' }))
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key === 'key' || typeof node.value !== 'string' || !node.range) return
      const shown = pathOf(node, ancestors).reduce<unknown>(stepInto, masked)
      if (shown === node.value) return
      const [from, to] = node.range
      changes.push({ from, to, text: replacement(text.slice(from, to), shown) })
    },
  })
  let result = text
  for (const { from, to, text: shown } of changes.toSorted((a, b) => b.from - a.from)) {
    result = result.slice(0, from) + shown + result.slice(to)
  }
  return result
}

/** The lexer inserts this mark before a document. */
const DOCUMENT_MARK = '\u0002'
/** The lexer inserts this mark after a flow error. */
const FLOW_ERROR_MARK = '\u0018'
/** The lexer inserts this mark before a scalar. */
const SCALAR_MARK = '\u001f'
const MARKS: readonly string[] = [DOCUMENT_MARK, FLOW_ERROR_MARK, SCALAR_MARK]

/** The ranges of the comments. */
function commentsIn(text: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  let at = 0
  let isScalar = false
  for (const lexeme of new Lexer().lex(text)) {
    // Marks are not part of the text.
    if (MARKS.includes(lexeme)) {
      isScalar = lexeme === SCALAR_MARK
      continue
    }
    if (!isScalar && lexeme.startsWith('#')) found.push({ from: at, to: at + lexeme.length })
    isScalar = false
    at += lexeme.length
  }
  return found
}

/**
 * Replaces a value with as many line breaks as it had, so that line numbers stay. Masks anything
 * that is not known to be harmless.
 */
function replacement(source: string, shown: unknown): string {
  const lines = source.split('\n').length - 1
  const value = typeof shown === 'string' ? JSON.stringify(shown) : '"[secret]"'
  return value + '\n'.repeat(lines)
}

type Ancestors = readonly unknown[]

/** The path of a value: its keys, and indexes as text. */
function pathOf(node: Scalar, ancestors: Ancestors): string[] {
  const chain = [...ancestors, node]
  return chain.flatMap((one, index) => {
    if (isPair(one) && isScalarNode(one.key)) return [String(one.key.value)]
    return isSeq(one) ? [String(one.items.findIndex((item) => item === chain[index + 1]))] : []
  })
}

function stepInto(value: unknown, step: string): unknown {
  return Object.hasOwn(Object(value), step) ? Object(value)[step] : undefined
}
