import { type Document, isNode, type LineCounter } from 'yaml'
import { attempt } from '../lib/attempt.ts'

/** A line (from 1) of a configuration file, as shown to people. The line is absent behind an alias. */
export type PlaceInFile = { file: string; line?: number }

/** The line of a value in a document that was parsed with `lines`. */
export function lineOf(document: Document, path: readonly (string | number)[], lines: LineCounter) {
  const node = attempt(() => document.getIn(path, true))
  return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined
}
