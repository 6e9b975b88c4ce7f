import type { KnownBlock, ModalView } from '@slack/web-api'
import { z } from 'zod'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  toJson,
} from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import { checkBlocks, checkView, lengthOf } from './block-limits.ts'
import { splitMarkdown, splitMrkdwn, splitPlain } from './split-text.ts'

/** Maximum blocks of a message and of a modal: https://docs.slack.dev/reference/block-kit/blocks */
const MOST_BLOCKS = 50
const MOST_IN_VIEW = 100
/** See https://docs.slack.dev/reference/block-kit/composition-objects/text-object. */
const LONGEST_TEXT = 3000
const LONGEST_HEADER = 150
/** Maximum characters of all Markdown blocks of a message, and of all cells of its table. */
const MARKDOWN_A_POST = 12_000
const CELLS_A_POST = 10_000
const MOST_ROWS = 100

/**
 * Distributes blocks over posts, and splits blocks that exceed Slack's limits. Throws with the block and the limit if a block cannot be
 * split, such as the value of a button.
 */
export function postsOfBlocks(blocks: readonly KnownBlock[]): KnownBlock[][] {
  const fitting = blocks.map(toJson).flatMap(splitBlock)
  checkBlocks(fitting)
  const posts: JsonObject[][] = [[]]
  for (const block of fitting) {
    if (!hasRoom(posts.at(-1) ?? [], block)) posts.push([])
    posts.at(-1)?.push(block)
  }
  return posts.map((post) => asBlocks.parse(post))
}

/** Fits the blocks of a modal into Slack's limits. Throws if that is impossible, as a modal cannot be distributed. */
export function fitView(view: ModalView): ModalView {
  if (!Array.isArray(view.blocks)) return view
  const blocks = view.blocks.map(toJson).flatMap(splitBlock)
  checkView(toJson(view), blocks)
  if (blocks.length > MOST_IN_VIEW)
    throw new Error(`view.blocks has ${blocks.length} blocks; Slack takes ${MOST_IN_VIEW}`)
  return { ...view, blocks: asBlocks.parse(blocks) }
}

/** Slack validates the other properties of blocks. */
const asBlocks = z.array(z.custom<KnownBlock>(isJsonObject))

/** Adds a block to the last post of a reply, or to a new post. */
export function addBlock(posts: { text: string; blocks: KnownBlock[] }[], block: KnownBlock): void {
  const last = posts.at(-1)
  if (last && last.blocks.length < MOST_BLOCKS) last.blocks.push(block)
  else posts.push({ text: '', blocks: [block] })
}

function hasRoom(post: readonly JsonObject[], block: JsonObject): boolean {
  const all = [...post, block]
  const sum = (type: string) =>
    all.filter((each) => each.type === type).reduce((total, each) => total + sizeOf(each), 0)
  // A message may have only one table.
  const tables = all.filter(({ type }) => type === 'table')
  if (post.length >= MOST_BLOCKS || tables.length > 1) return post.length === 0
  return post.length === 0 || sum('markdown') <= MARKDOWN_A_POST
}

const sizeOf = (block: JsonObject) => lengthOf(textAt(block, 'text') ?? '')

/** Splits a block into blocks within the limits. Only the first keeps its unique `block_id`. */
function splitBlock(block: Json): JsonObject[] {
  if (!isJsonObject(block)) return []
  switch (block.type) {
    case 'section':
      return splitSection(block)
    case 'header':
      return splitHeader(block)
    case 'context':
      return splitItems(
        { ...block, elements: objectsAt(block, 'elements').flatMap(splitText) },
        'elements',
        10,
      )
    case 'actions':
      return splitItems(block, 'elements', 25)
    case 'context_actions':
      return splitItems(block, 'elements', 5)
    case 'markdown':
      return splitMarkdown(textAt(block, 'text') ?? '').map((text, index) => part(block, index, { text }))
    case 'table':
      return splitTable(block)
    default:
      return [block]
  }
}

/** The accessory stays with the first part of the text, fields with the last. */
function splitSection(block: JsonObject): JsonObject[] {
  const { text, fields, accessory, ...rest } = block
  const texts = isJsonObject(text) ? splitText(text) : []
  const groups = chunks(objectsAt({ fields: fields ?? [] }, 'fields'), 10)
  if (texts.length <= 1 && groups.length <= 1) return [block]
  const parts: JsonObject[] = [
    ...texts.map((each) => ({ text: each })),
    ...groups.map((each) => ({ fields: each })),
  ]
  return parts.map((each, index) =>
    part(rest, index, { ...each, ...(index === 0 && accessory ? { accessory } : {}) }),
  )
}

/** Splits a text object within Slack's limit; closes and reopens code fences. */
function splitText(object: JsonObject): JsonObject[] {
  const text = textAt(object, 'text') ?? ''
  if (typeof object.text !== 'string' || lengthOf(text) <= LONGEST_TEXT) return [object]
  const split = object.type === 'mrkdwn' ? splitMrkdwn : splitPlain
  return split(text, LONGEST_TEXT).map((each) => ({ ...object, text: each }))
}

function splitHeader(block: JsonObject): JsonObject[] {
  const text = objectAt(block, 'text')
  const words = textAt(text, 'text') ?? ''
  if (lengthOf(words) <= LONGEST_HEADER) return [block]
  return splitPlain(words, LONGEST_HEADER).map((each, index) =>
    part(block, index, { text: { ...text, text: each } }),
  )
}

function splitItems(block: JsonObject, key: string, most: number): JsonObject[] {
  const groups = chunks(objectsAt(block, key), most)
  return groups.length <= 1 ? [block] : groups.map((each, index) => part(block, index, { [key]: each }))
}

/** Splits a table into tables that repeat the first row. Each part needs its own post, as a message may have only one table. */
function splitTable(block: JsonObject): JsonObject[] {
  const rows = Array.isArray(block.rows) ? block.rows : []
  const [head, ...body] = rows
  if (head === undefined || (rows.length <= MOST_ROWS && cellsIn(rows) <= CELLS_A_POST)) return [block]
  const parts: Json[][] = []
  for (const row of body) {
    const last = parts.at(-1)
    const fits = last && last.length < MOST_ROWS && cellsIn([...last, row]) <= CELLS_A_POST
    if (fits) last.push(row)
    else parts.push([head, row])
  }
  return parts.map((each, index) => part(block, index, { rows: each }))
}

/** Number of characters in all cells. */
function cellsIn(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + cellsIn(each), 0)
  if (!isJsonObject(value)) return 0
  const own = typeof value.text === 'string' ? lengthOf(value.text) : 0
  return own + cellsIn(value.elements ?? [])
}

function part(block: JsonObject, index: number, more: JsonObject): JsonObject {
  const { block_id, ...rest } = block
  return { ...rest, ...defined({ block_id: index === 0 ? block_id : undefined }), ...more }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const groups = Math.ceil(items.length / size)
  return Array.from({ length: groups }, (_, group) => items.slice(group * size, (group + 1) * size))
}
