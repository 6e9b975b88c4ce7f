/** Maximum number of values to inspect. */
const MAX_VALUES = 300
/** Maximum depth of values to inspect. */
const MAX_DEPTH = 4
/** Maximum number of elements of a list to inspect. */
const MAX_ELEMENTS = 3
/** Maximum number of values in a summary. */
const MAX_PARTS = 4
/** Maximum number of characters of a value in a summary. */
const MAX_CHARACTERS = 120
/** Maximum number in a summary: larger ones are ids or times. */
const MAX_NUMBER = 1e9

/** Fields that mean little to people: ids, URLs, times, versions and modes. */
const FOR_MACHINES =
  /(^|[_-])(id|ids|uuid|guid|gid|hash|sha|token|secret|signature|url|uri|href|link|cursor|etag|version|object|livemode|created|updated|timestamp|at|time|date|ref|key)$|(Id|Url|Uri|At|Hash)$|^(api_version|node_id|type|event|topic)$/
/** The most important fields, which are shown without their names. */
const FIRST = /^(title|subject|summary|headline|text|message|description|content|comment|body)$/i
/** A number by which people name an order, an invoice or an issue. It comes first. */
const NUMBER_SIGN = /^#\d+$/
/** Fields with such a number, which come after `FIRST`. */
const NUMBERS = /^((order|invoice|ticket|issue)?[_-]?number|order)$/i
/** Fields that come after `NUMBERS`. */
const NEXT = /^(action|status|state|level|amount|total|total_price|price)$/i
/** Fields that come after `NEXT`; alone, a currency says little. */
const THEN = /^currency$/i
/** Fields that come after `THEN`, and before all others. */
const LAST = /^(name|full_name|login|email|customer|user|author|username)$/i

/** A lower `rank` is more important. */
type Found = { key: string; value: string; rank: number }

/** Summarises a JSON object in one line for people; undefined if it has no readable values. */
export function summaryOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const best = new Map<string, Found>()
  for (const found of valuesIn(body).toSorted((a, b) => a.rank - b.rank)) {
    if (best.size < MAX_PARTS && !best.has(found.key)) best.set(found.key, found)
  }
  const parts = [...best.values()].map(({ key, value }) =>
    FIRST.test(key) || NUMBER_SIGN.test(value) ? value : `${key}: ${value}`,
  )
  return parts.length === 0 ? undefined : parts.join(' · ')
}

function valuesIn(body: object): Found[] {
  const found: Found[] = []
  let level: (readonly [string, unknown])[] = Object.entries(body)
  for (let depth = 0, seen = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const below: (readonly [string, unknown])[] = []
    for (const [key, value] of level) {
      if (++seen > MAX_VALUES) return found
      const children = childrenOf(key, value)
      if (children) below.push(...children.slice(0, MAX_VALUES - below.length))
      else if (isForPeople(key, value))
        found.push({ key, value: inLine(value), rank: rankOf(key, value) + depth })
    }
    level = below
  }
  return found
}

/**
 * The values in a list or an object, with their keys; elements of a list have the key of the list.
 */
function childrenOf(key: string, value: unknown): (readonly [string, unknown])[] | undefined {
  if (Array.isArray(value)) return value.slice(0, MAX_ELEMENTS).map((each) => [key, each])
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

function isForPeople(key: string, value: unknown): boolean {
  if (FOR_MACHINES.test(key)) return false
  if (typeof value === 'number') return Math.abs(value) < MAX_NUMBER
  if (typeof value !== 'string' || value.trim() === '') return false
  if (FIRST.test(key)) return true
  // Ids, hashes, URLs and times have no spaces, and many characters or digits.
  return !/^(\w+:\/\/\S*|[a-z]{2,6}_\w{8,}|[\da-f-]{16,}|[\w+/=-]{32,}|\d{4}-\d\d-\d\dT\S*|\d{10,})$/i.test(
    value,
  )
}

function rankOf(key: string, value: unknown): number {
  if (typeof value === 'string' && NUMBER_SIGN.test(value)) return 0
  if (FIRST.test(key)) return 0
  if (NUMBERS.test(key)) return 9
  if (NEXT.test(key)) return 10
  if (THEN.test(key)) return 15
  return LAST.test(key) ? 20 : 30
}

function inLine(value: unknown): string {
  const text = String(value).replaceAll(/\s+/g, ' ').trim()
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text
}
