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

/** Maximum blocks of a message: https://docs.slack.dev/reference/block-kit/blocks */
const MAX_BLOCKS = 50
/** Maximum blocks of a modal. */
const MAX_VIEW_BLOCKS = 100
/**
 * Maximum characters of a text object:
 * https://docs.slack.dev/reference/block-kit/composition-objects/text-object
 */
const MAX_TEXT = 3_000
/** Maximum characters of a header block. */
const MAX_HEADER = 150
/** Maximum characters of all Markdown blocks of a message. */
const MAX_MARKDOWN = 12_000
/** Maximum characters of all cells of the table of a message. */
const MAX_CELL_TEXT = 10_000
const MAX_ROWS = 100
/** Maximum number of elements of these blocks, and of fields of a section. */
const MAX_ITEMS = { actions: 25, context: 10, context_actions: 5, fields: 10 }

/**
 * Distributes blocks over posts, and splits blocks that exceed Slack's limits. Throws with the
 * block and the limit if a block cannot be split, such as the value of a button.
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

/**
 * Splits blocks of a modal that exceed Slack's limits. Throws if the modal still does, because it
 * cannot be distributed.
 */
export function fitView(view: ModalView): ModalView {
  if (!Array.isArray(view.blocks)) return view
  const blocks = view.blocks.map(toJson).flatMap(splitBlock)
  checkView(toJson(view), blocks)
  if (blocks.length > MAX_VIEW_BLOCKS)
    throw new Error(`view.blocks has ${blocks.length} blocks; Slack takes ${MAX_VIEW_BLOCKS}`)
  return { ...view, blocks: asBlocks.parse(blocks) }
}

/** Slack validates the other properties of blocks. */
const asBlocks = z.array(z.custom<KnownBlock>(isJsonObject))

/** Adds a block to the last post of a reply, or to a new post. */
export function addBlock(posts: { text: string; blocks: KnownBlock[] }[], block: KnownBlock): void {
  const last = posts.at(-1)
  if (last && last.blocks.length < MAX_BLOCKS) last.blocks.push(block)
  else posts.push({ text: '', blocks: [block] })
}

/** Whether a block can be added to a post. An empty post has room for any block. */
function hasRoom(post: readonly JsonObject[], block: JsonObject): boolean {
  if (post.length === 0) return true
  const all = [...post, block]
  const ofType = (wanted: string) => all.filter(({ type }) => type === wanted)
  const markdown = ofType('markdown').map((each) => lengthOf(textAt(each, 'text') ?? ''))
  const markdownLength = markdown.reduce((sum, length) => sum + length, 0)
  // A message may have only one table.
  return all.length <= MAX_BLOCKS && ofType('table').length <= 1 && markdownLength <= MAX_MARKDOWN
}

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
        MAX_ITEMS.context,
      )
    case 'actions':
      return splitItems(block, 'elements', MAX_ITEMS.actions)
    case 'context_actions':
      return splitItems(block, 'elements', MAX_ITEMS.context_actions)
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
  const groups = chunks(objectsAt({ fields: fields ?? [] }, 'fields'), MAX_ITEMS.fields)
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
  if (typeof object.text !== 'string' || lengthOf(text) <= MAX_TEXT) return [object]
  const split = object.type === 'mrkdwn' ? splitMrkdwn : splitPlain
  return split(text, MAX_TEXT).map((each) => ({ ...object, text: each }))
}

function splitHeader(block: JsonObject): JsonObject[] {
  const text = objectAt(block, 'text')
  const title = textAt(text, 'text') ?? ''
  if (lengthOf(title) <= MAX_HEADER) return [block]
  return splitPlain(title, MAX_HEADER).map((each, index) =>
    part(block, index, { text: { ...text, text: each } }),
  )
}

function splitItems(block: JsonObject, key: string, max: number): JsonObject[] {
  const groups = chunks(objectsAt(block, key), max)
  return groups.length <= 1 ? [block] : groups.map((each, index) => part(block, index, { [key]: each }))
}

/**
 * Splits a table into tables that repeat the first row. Each needs its own post, because a message
 * may have only one table.
 */
function splitTable(block: JsonObject): JsonObject[] {
  const rows = Array.isArray(block.rows) ? block.rows : []
  const [head, ...body] = rows
  if (head === undefined || (rows.length <= MAX_ROWS && textLength(rows) <= MAX_CELL_TEXT)) return [block]
  const parts: Json[][] = []
  for (const row of body) {
    const last = parts.at(-1)
    const fits = last && last.length < MAX_ROWS && textLength([...last, row]) <= MAX_CELL_TEXT
    if (fits) last.push(row)
    else parts.push([head, row])
  }
  return parts.map((each, index) => part(block, index, { rows: each }))
}

/** Number of characters in all cells. */
function textLength(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + textLength(each), 0)
  if (!isJsonObject(value)) return 0
  const own = typeof value.text === 'string' ? lengthOf(value.text) : 0
  return own + textLength(value.elements ?? [])
}

/** One part of a split block: the block with other content. */
function part(block: JsonObject, index: number, content: JsonObject): JsonObject {
  const { block_id, ...rest } = block
  return { ...rest, ...defined({ block_id: index === 0 ? block_id : undefined }), ...content }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const groups = Math.ceil(items.length / size)
  return Array.from({ length: groups }, (_, group) => items.slice(group * size, (group + 1) * size))
}
