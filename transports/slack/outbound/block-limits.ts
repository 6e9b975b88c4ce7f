import { isJsonObject, type Json, type JsonObject, pathGet } from '../../../src/core/json.ts'

/**
 * Maximum length of texts and lists at paths, by type of block, element or view
 * (https://docs.slack.dev/reference/block-kit).
 */
const LIMITS: Record<string, Record<string, number>> = {
  section: { 'text.text': 3000 },
  header: { 'text.text': 150 },
  image: { image_url: 3000, alt_text: 2000, 'title.text': 2000 },
  input: { 'label.text': 2000, 'hint.text': 2000 },
  video: { 'title.text': 200, 'description.text': 200, author_name: 50, alt_text: 2000 },
  button: { 'text.text': 75, value: 2000, url: 3000, accessibility_label: 75 },
  overflow: { options: 5 },
  checkboxes: { options: 10 },
  radio_buttons: { options: 10 },
  static_select: { options: 100, option_groups: 100, 'placeholder.text': 150 },
  multi_static_select: { options: 100, option_groups: 100, 'placeholder.text': 150 },
  plain_text_input: { 'placeholder.text': 150 },
  plain_text: { text: 3000 },
  mrkdwn: { text: 3000 },
  modal: { 'title.text': 24, 'submit.text': 24, 'close.text': 24, private_metadata: 3000, callback_id: 255 },
  table: { rows: 100, column_settings: 20 },
}
/** For objects without a type, by their key. */
const UNTYPED: Record<string, Record<string, number>> = {
  confirm: { 'title.text': 100, 'text.text': 300, 'confirm.text': 30, 'deny.text': 30 },
  options: { 'text.text': 75, 'description.text': 75, value: 150 },
  option_groups: { 'label.text': 75, options: 100 },
}
/** For all objects. */
const ID_LIMITS = { action_id: 255, block_id: 255 }
const MAX_FIELD = 2_000
const MAX_COLUMNS = 20

/** Text length as Slack counts it: code points, not UTF-16 units. */
export function lengthOf(text: string): number {
  let pairs = 0
  for (const _ of text.matchAll(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)) pairs++
  return text.length - pairs
}

/** Throws an Error with path, size and limit for the first violation of Slack's limits. */
export function checkBlocks(blocks: readonly Json[], path = 'blocks'): void {
  const seen = new Set<Json>()
  for (const [index, block] of blocks.entries()) {
    check(block, `${path}[${index}]`, '')
    const id = isJsonObject(block) ? block.block_id : undefined
    if (id === undefined) continue
    if (seen.has(id)) throw new Error(`${path}[${index}].block_id: ${id} is the id of an earlier block`)
    seen.add(id)
  }
}

/** Checks a modal with these blocks. */
export function checkView(view: Json, blocks: readonly Json[]): void {
  check(isJsonObject(view) ? { ...view, blocks: [] } : view, 'view', '')
  checkBlocks(blocks, 'view.blocks')
}

function check(value: Json | undefined, path: string, key: string): void {
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) check(each, `${path}[${index}]`, key)
    return
  }
  if (!isJsonObject(value)) return
  const { type } = value
  const own = typeof type === 'string' ? LIMITS[type] : UNTYPED[key]
  const limits = { ...ID_LIMITS, ...own, ...(key === 'fields' ? { text: MAX_FIELD } : {}) }
  for (const [at, limit] of Object.entries(limits)) checkSize(value, at, limit, path)
  if (type === 'section' && !value.text && !value.fields)
    throw new Error(`${path} has neither text nor fields`)
  if (type === 'table') checkRows(value, path)
  if ((type === 'mrkdwn' || type === 'plain_text') && value.text === '')
    throw new Error(`${path}.text is empty; Slack takes 1 character or more`)
  for (const [name, each] of Object.entries(value)) check(each, `${path}.${name}`, name)
}

function checkSize(object: JsonObject, at: string, limit: number, path: string): void {
  const value = pathGet(object, at)
  const size = sizeOf(value)
  if (size <= limit) return
  const unit = typeof value === 'string' ? 'characters' : 'items'
  throw new Error(`${path}.${at} has ${size} ${unit}; Slack takes ${limit}`)
}

/** The number of characters or items; 0 for other values. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return lengthOf(value)
  return Array.isArray(value) ? value.length : 0
}

function checkRows({ rows }: JsonObject, path: string): void {
  const widths = (Array.isArray(rows) ? rows : []).map((row) => (Array.isArray(row) ? row.length : 0))
  const columns = Math.max(0, ...widths)
  if (columns > MAX_COLUMNS)
    throw new Error(`${path}.rows has ${columns} columns; Slack takes ${MAX_COLUMNS}`)
}
