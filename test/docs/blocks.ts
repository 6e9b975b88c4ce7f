import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * A fenced code block. `attributes` are the words after the language with their values: the reason
 * of `no-run="…"`, or '' for `output`.
 */
export type Block = {
  page: string
  line: number
  language: string
  attributes: ReadonlyMap<string, string>
  code: string
  /** The file name, if the text above says: save this as `name`. */
  saveAs: string | undefined
}

/** The pages that people wrote: the README and docs/, without the generated reference. */
export const pages = ['README.md', ...globSync('docs/*.md', { cwd: root }).sort()]

/** Number of lines above a block that may name its file: a short paragraph. */
const LINES_ABOVE = 5

/** The fenced code blocks of a page, in order, without the indent of a list. */
export function blocksOf(page: string): Block[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent, info] = /^( *)```(.*)$/.exec(lines[at] ?? '') ?? []
    if (indent === undefined || info === undefined) continue
    const end = lines.indexOf(`${indent}\`\`\``, at + 1)
    if (end < 0) throw new Error(`${page}:${at + 1}: the code block is not closed`)
    const code = lines.slice(at + 1, end).map((line) => line.slice(indent.length))
    const above = lines.slice(Math.max(0, at - LINES_ABOVE), at).join(' ')
    const saveAs = [...above.matchAll(/[Ss]ave (?:this|it) as `([^`]+)`/g)].at(-1)?.[1]
    blocks.push({ page, line: at + 1, ...parseInfo(info), code: `${code.join('\n')}\n`, saveAs })
    at = end
  }
  return blocks
}

/** `docs/push.md:25`, as editors open it. */
export function placeOf({ page, line }: Block): string {
  return `${page}:${line}`
}

function parseInfo(info: string): Pick<Block, 'language' | 'attributes'> {
  const [, language = '', rest = ''] = /^(\S*) ?(.*)$/.exec(info.trim()) ?? []
  const attributes = [...rest.matchAll(/([\w-]+)(?:="([^"]*)")?/g)]
  return { language, attributes: new Map(attributes.map(([, name = '', text = '']) => [name, text])) }
}
