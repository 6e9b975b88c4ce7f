import { randomInt } from 'node:crypto'

const MAX_SEQ = 2 ** 40

/**
 * Makes a UUIDv7 (RFC 9562, method 1) from a time (Unix ms) and a position in the journal below 2^40, so that no store needs an
 * index from id to position. 34 bits are random.
 */
export function makeId(time: number, position: number, random: number = randomTail()): string {
  if (position < 0 || position >= MAX_SEQ) throw new RangeError(`position ${position} is outside 0..2^40`)
  const block = Math.floor(position / 2 ** 14)
  if (time !== latest.time || block !== latest.block) latest = { time, block, start: startOf(time, block) }
  const c = (position % 2 ** 14) * 4 + Math.floor(random / 2 ** 32)
  const [high, low] = [(random >>> 16) & 0xffff, random & 0xffff]
  return `${latest.start}${byte(c >>> 8)}${byte(c)}${byte(high >>> 8)}${byte(high)}${byte(low >>> 8)}${byte(low)}`
}

/** The start of the last id, which the others of its millisecond share: making it takes most of the time. */
let latest = { time: Number.NaN, block: -1, start: '' }

function startOf(time: number, block: number): string {
  const ms = Math.max(0, time)
  const a = hex(block / 2 ** 14, 3)
  const b = hex(0x8000 + (block % 2 ** 14))
  return `${hex(ms / 2 ** 32)}${hex(ms / 2 ** 16)}-${hex(ms)}-7${a}-${b}-`
}

const BYTES = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))

/** The two digits of the lowest byte. */
function byte(value: number): string {
  return BYTES[value & 0xff] ?? ''
}

/** A random number below 2^34, for the end of an id. Node keeps some ready, so that this is no system call. */
export function randomTail(): number {
  return randomInt(2 ** 34)
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

/** True for text that has the form of an id. */
export function isId(text: string): boolean {
  return text.length === 36 && ID.test(text)
}

/** The time (Unix ms) of the first id in a text, such as the id of a job that has that of its message. */
export function timeIn(text: string): number | undefined {
  const [id] = ID.exec(text) ?? []
  return id === undefined ? undefined : timeOf(id)
}

/** The journal position inside an id, or undefined where the text is no id of ours. */
export function positionOf(id: string): number | undefined {
  return idParts(id)?.[0]
}

/** An id without its dashes. */
export function hexOf(id: string): string {
  return id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24)
}

/** The Unix time in milliseconds inside an id. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** Position, time and random end of an id, as scripts of Redis take them; undefined where the text is no id of ours. */
export function idParts(id: string): [number, number, number] | undefined {
  if (!isId(id)) return undefined
  const a = Number.parseInt(id.slice(15, 18), 16)
  const b = Number.parseInt(id.slice(19, 23), 16) & 0x3fff
  const c = Number.parseInt(id.slice(24, 28), 16) >> 2
  const tail = (Number.parseInt(id.slice(24, 28), 16) & 3) * 2 ** 32 + Number.parseInt(id.slice(28), 16)
  return [(a * 2 ** 14 + b) * 2 ** 14 + c, timeOf(id), tail]
}

/** How many missed events an id stands for: that of a gap is at no position, and ends with their number. */
export function missedIn(id: string): number {
  // Reading all of an id costs more than to see that most are at a position.
  if (!id.startsWith('000-8000-000', 15)) return 0
  const [position, , missed = 0] = idParts(id) ?? []
  return position === 0 ? missed : 0
}

/** The lowest 16 bits of a whole number: larger ones take V8 twice as long to write. */
function hex(value: number, digits = 4): string {
  return (Math.floor(value) % 2 ** 16).toString(16).padStart(digits, '0')
}
