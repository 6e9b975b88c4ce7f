import { randomInt } from 'node:crypto'

const MAX_POSITION = 2 ** 40

/**
 * Makes a UUIDv7 (RFC 9562, method 1) from a time (Unix ms) and a journal position below 2^40, so
 * that stores need no index from id to position. `random`: 34 random bits. Throws a RangeError for
 * other positions.
 *
 * Layout: 48 bits time, 4 bits version, 12 bits position, 2 bits variant, 14 bits position, 14 bits
 * position, 34 bits random.
 */
export function makeId(time: number, position: number, random: number = randomTail()): string {
  if (position < 0 || position >= MAX_POSITION)
    throw new RangeError(`position ${position} is outside 0..2^40`)
  const block = Math.floor(position / 2 ** 14)
  if (time !== latest.time || block !== latest.block) latest = { time, block, start: startOf(time, block) }
  // The lowest 14 bits of the position, and the highest two random ones.
  const mixed = (position % 2 ** 14) * 4 + Math.floor(random / 2 ** 32)
  const high = (random >>> 16) & 0xffff
  const low = random & 0xffff
  return `${latest.start}${byte(mixed >>> 8)}${byte(mixed)}${byte(high >>> 8)}${byte(high)}${byte(low >>> 8)}${byte(low)}`
}

/**
 * Cached start of the last id: ids of one millisecond and one block of positions share it, and it
 * is the most expensive part.
 */
let latest = { time: Number.NaN, block: -1, start: '' }

/** The first part of an id: the time, and the highest 26 bits of the position (`block`). */
function startOf(time: number, block: number): string {
  const ms = Math.max(0, time)
  const high = hex(block / 2 ** 14, 3)
  const low = hex(VARIANT + (block % 2 ** 14))
  return `${hex(ms / 2 ** 32)}${hex(ms / 2 ** 16)}-${hex(ms)}-7${high}-${low}-`
}

/** The variant bits `10` of RFC 9562, before 14 bits of the position. */
const VARIANT = 0x8000

const BYTES = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))

/** The lowest byte as two hex digits. */
function byte(value: number): string {
  return BYTES[value & 0xff] ?? ''
}

/**
 * A random number below 2^34, for the end of an id. Node caches random bytes, so this is rarely a
 * system call.
 */
export function randomTail(): number {
  return randomInt(2 ** 34)
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

/** Whether a text has the form of an id. */
export function isId(text: string): boolean {
  return text.length === 36 && ID.test(text)
}

/**
 * Since when the message or event in a job id waits (Unix ms): the time of the first id in the job
 * id, or of the replay (`.ROUND` at the end) if that is later.
 */
export function timeIn(text: string): number | undefined {
  const [id] = ID.exec(text) ?? []
  if (id === undefined) return undefined
  const [, round = 0] = ROUND.exec(text) ?? []
  return Math.max(timeOf(id), Number(round))
}

/** The time (Unix ms) of a replay at the end of a job id. */
const ROUND = /\.(\d{13})$/

/** The journal position in an id; undefined if the text is not one of our ids. */
export function positionOf(id: string): number | undefined {
  return isId(id) ? positionIn(id) : undefined
}

/**
 * An id without its dashes. Cached for the last id: accepting a message needs it for the key and
 * for the trace.
 */
export function hexOf(id: string): string {
  if (id === lastHex.id) return lastHex.hex
  const hex = id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24)
  lastHex = { id, hex }
  return hex
}

let lastHex = { id: '', hex: '' }

/** The time in an id (Unix ms). */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/**
 * Position, time and random end of an id, as the Redis scripts take them; undefined if the text is
 * not one of our ids.
 */
export function idParts(id: string): [number, number, number] | undefined {
  if (!isId(id)) return undefined
  const mixed = Number.parseInt(id.slice(24, 28), 16)
  const random = (mixed & 3) * 2 ** 32 + Number.parseInt(id.slice(28), 16)
  return [positionIn(id), timeOf(id), random]
}

function positionIn(id: string): number {
  const high = Number.parseInt(id.slice(15, 18), 16)
  const middle = Number.parseInt(id.slice(19, 23), 16) & 0x3fff
  const low = Number.parseInt(id.slice(24, 28), 16) >> 2
  return (high * 2 ** 14 + middle) * 2 ** 14 + low
}

/** Hex digits of the lowest 16 bits: V8 takes twice as long for larger numbers. */
function hex(value: number, digits = 4): string {
  return (Math.floor(value) % 2 ** 16).toString(16).padStart(digits, '0')
}
