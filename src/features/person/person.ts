import { z } from 'zod'
import { partsOf, withoutCase } from '../../core/identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'

/** One person, and the keys of their data. */
export type Person = {
  identities: readonly string[]
  /** The ids of their messages. */
  messages: ReadonlySet<string>
  /** Conversations in which nobody else wrote, as `gateway/conversation`. */
  conversations: ReadonlySet<string>
  /** Conversations of others whose name contains that of one of the person's: `ws/a:b`, `ws/a`. */
  neighbours?: ReadonlySet<string>
  /** The SHA-256 of files that nobody else sent, and of files made for the person. */
  files: ReadonlySet<string>
}

export const personSchema = z.object({
  identities: z.array(z.string()),
  messages: z.array(z.string()),
  conversations: z.array(z.string()),
  neighbours: z.array(z.string()).default([]),
  files: z.array(z.string()),
})

/**
 * Key prefix of a stored person, followed by the id of the job that erases them. Kept until the job
 * ends, because the ids of their messages are needed after the messages are gone.
 */
export const SUBJECT_PREFIX = 'person-erase-subject:'

export type StoredPerson = z.infer<typeof personSchema>

export function toStored({ identities, messages, conversations, neighbours, files }: Person): StoredPerson {
  return {
    identities: [...identities],
    messages: [...messages],
    conversations: [...conversations],
    neighbours: [...(neighbours ?? [])],
    files: [...files],
  }
}

export function fromStored({ identities, messages, conversations, neighbours, files }: StoredPerson): Person {
  return {
    identities,
    messages: new Set(messages),
    conversations: new Set(conversations),
    neighbours: new Set(neighbours),
    files: new Set(files),
  }
}

/** Identifies a conversation: the same id may exist on several gateways. */
export const conversationKey = ({ gateway, conversation }: Pick<Message, 'gateway' | 'conversation'>) =>
  `${gateway}/${conversation}`

/** The gateway of an identity that counts at every gateway. */
export const ANY_GATEWAY = '*'
const MESSAGE_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
/** The SHA-256 of a file. */
const HASH = /\b[0-9a-f]{64}\b/g
/** Fields of an object with a gateway that may name a person. */
const NAME_FIELDS = ['from', 'sender', 'user', 'by', 'to', 'recipient']
/** Maximum characters of a text that is searched for the name of a person. */
const MAX_NAMING_TEXT = 500

/**
 * Recognises the identities of one person. Case is ignored in addresses, and in the identities of
 * gateways for which `isCaseless` is true. `gateways`: the names of all gateways. Data that names
 * another one of them is not that of an address on one gateway.
 */
export function createIdentities(
  identities: readonly string[],
  isCaseless: (gateway: string) => boolean,
  gateways: readonly string[] = [],
) {
  const wanted = identities.map((identity) => {
    const { gateway, name, external } = partsOf(identity)
    const caseless = name.includes('@') || (gateway !== ANY_GATEWAY && isCaseless(gateway))
    return { gateway, external, caseless, name: caseless ? withoutCase(name) : name }
  })
  /**
   * Identities that are recognised without their gateway: addresses, and ids given for every
   * gateway. Other ids may belong to someone else on another gateway.
   */
  const unambiguous = wanted.filter(({ gateway, name }) => gateway === ANY_GATEWAY || name.includes('@'))
  /** `on`: the gateway that the data names. */
  const isName = (text: string, on?: string) =>
    unambiguous.some(
      ({ gateway, name, caseless }) =>
        isInScope(gateway, on) && (caseless ? withoutCase(text) : text) === name,
    )
  const isInScope = (gateway: string, on?: string) =>
    gateway === ANY_GATEWAY || on === undefined || on === gateway || !gateways.includes(on)
  const isOn = (onGateway: string, name: string, isExternal = false) =>
    wanted.some(
      (identity) =>
        (identity.gateway === ANY_GATEWAY || identity.gateway === onGateway) &&
        identity.external === isExternal &&
        identity.name === (identity.caseless ? withoutCase(name) : name),
    )
  return {
    wanted,
    unambiguous,
    gateways,
    isInScope,
    isName,
    /**
     * Whether an address or id on a gateway is the person's. `isExternal`: of another workspace.
     */
    isOn,
    /**
     * Whether an identity, which may be for all gateways, is the person's on at least one gateway.
     */
    includes(identity: string): boolean {
      const { gateway, name, external } = partsOf(identity)
      return gateway === ANY_GATEWAY
        ? wanted.some((each) => isOn(each.gateway, name, external))
        : isOn(gateway, name, external)
    },
    isSender: ({ gateway, from }: Pick<Message, 'gateway' | 'from'>) =>
      [from.address, from.id].some(
        (name) => name !== undefined && name !== '' && isOn(gateway, name, from.external),
      ),
  }
}

/** The same identities, recognised only together with their gateways. */
export function withGateways(identities: Identities): Identities {
  return { ...identities, unambiguous: [], isName: () => false }
}

export type Identities = ReturnType<typeof createIdentities>
export type References = ReturnType<typeof createReferences>

/** Recognises values about a person, by their names and by the keys of their data. */
export function createReferences(
  person: Person,
  { wanted, unambiguous, gateways, isInScope, isName, isOn, isSender }: Identities,
) {
  const identityPatterns = wanted.map(identityPattern)
  const namePatterns = unambiguous
    .filter(({ name }) => name.includes('@') || name.length >= MIN_NAME_LENGTH)
    .map((one) => ({ gateway: one.gateway, pattern: namePattern(one, gateways) }))
  const conversations = [...person.conversations]
  const neighbours = [...(person.neighbours ?? [])]
  const namesConversation = (text: string) =>
    person.conversations.has(text) ||
    conversations.some((conversation) => includesWhole(text, conversation, neighbours))

  /**
   * Whether a text, such as an id, a key or a lane, names the person or some of their data. `on`: the
   * gateway that the data around it names, here and below.
   */
  function mentions(text: string, on?: string): boolean {
    if (text === '') return false
    for (const [id] of text.matchAll(MESSAGE_ID)) if (person.messages.has(id)) return true
    for (const [hash] of text.matchAll(HASH)) if (person.files.has(hash)) return true
    if (text.length > MAX_NAMING_TEXT) return false
    return (
      isName(text, on) || identityPatterns.some((pattern) => pattern.test(text)) || namesConversation(text)
    )
  }

  const isTheirs = (value: JsonObject) => namesPerson(value, isOn)

  /** Whether the whole object is about the person. */
  const isAbout = (value: JsonObject, on?: string) =>
    isTheirs(value) || Object.values(value).some((field) => typeof field === 'string' && mentions(field, on))

  /** Whether something in a value is about the person. */
  function refersTo(value: Json, on?: string): boolean {
    if (typeof value === 'string') return mentions(value, on)
    if (Array.isArray(value)) return value.some((element) => refersTo(element, on))
    if (!isJsonObject(value)) return false
    const here = gatewayIn(value) ?? on
    const isNamed = ([key, field]: [string, Json]) => mentions(key, here) || refersTo(field, here)
    return isTheirs(value) || Object.entries(value).some(isNamed)
  }

  return {
    /** Whether an address counts on one gateway only. */
    isNarrow: unambiguous.some(({ gateway }) => gateway !== ANY_GATEWAY),
    isOn,
    isSender,
    isName,
    mentions,
    refersTo,
    ...createParts({ mentions, refersTo, isAbout }),
    /** Like `mentions`, but also if a key or a text of any length contains a name without its gateway. */
    isInKey: (key: string, on?: string) =>
      mentions(key, on) ||
      identityPatterns.some((pattern) => pattern.test(key)) ||
      namePatterns.some(({ gateway, pattern }) => isInScope(gateway, on) && pattern.test(key)),
  }
}

type Recognised = {
  mentions(text: string, on?: string): boolean
  refersTo(value: Json, on?: string): boolean
  isAbout(value: JsonObject, on?: string): boolean
}

/** Separates the parts of values that are about the person from the others. */
function createParts({ mentions, refersTo, isAbout }: Recognised) {
  /**
   * The value without its parts about the person: texts, keys with their values, and the innermost
   * objects with such a text. Undefined if the whole value is about them, or if nothing remains of
   * an object. A list may become empty.
   */
  function without(value: Json, on?: string): Json | undefined {
    if (!refersTo(value, on)) return value
    if (Array.isArray(value))
      return value.map((element) => without(element, on)).filter((element) => element !== undefined)
    if (!isJsonObject(value)) return undefined
    const here = gatewayIn(value) ?? on
    if (isAbout(value, here)) return undefined
    const remaining = Object.entries(value).flatMap(([key, field]) => {
      const rest = mentions(key, here) ? undefined : without(field, here)
      return rest === undefined ? [] : [[key, rest] as const]
    })
    return remaining.length === 0 ? undefined : Object.fromEntries(remaining)
  }

  /** The parts that `without` removes. */
  function partsAbout(value: Json, on?: string): Json[] {
    if (!refersTo(value, on)) return []
    if (Array.isArray(value)) return value.flatMap((element) => partsAbout(element, on))
    if (!isJsonObject(value)) return [value]
    const here = gatewayIn(value) ?? on
    if (isAbout(value, here)) return [value]
    return Object.entries(value).flatMap(([key, field]) =>
      mentions(key, here) ? [{ [key]: field }] : partsAbout(field, here),
    )
  }

  return { without, partsAbout }
}

/** The gateway that an object names. `channel` is the gateway in messages.jsonl. */
export function gatewayIn({ gateway, channel, message = null }: JsonObject): string | undefined {
  const named = [gateway, channel, isJsonObject(message) ? message.gateway : undefined]
  return named.find((name) => typeof name === 'string')
}

/** Whether an object names the person and the gateway. */
function namesPerson(value: JsonObject, isOn: Identities['isOn']): boolean {
  // `channel` is the gateway in messages.jsonl.
  const gateway = value.gateway ?? value.channel
  if (typeof gateway !== 'string') return false
  return NAME_FIELDS.some((field) => {
    const { address, id, external } = Object(value[field])
    const names = typeof value[field] === 'string' ? [value[field]] : [address, id]
    return names.some((name) => typeof name === 'string' && isOn(gateway, name, external === true))
  })
}

/**
 * Minimum length of an id that is recognised within a key. A shorter id may be a part of another
 * word there.
 */
const MIN_NAME_LENGTH = 8

/**
 * A pattern for an identity with its gateway, as `email:ada@example.com` or
 * `email/ada@example.com`.
 */
function identityPattern({ gateway, name, external, caseless }: Identities['wanted'][number]): RegExp {
  const gatewaySource = gateway === ANY_GATEWAY ? String.raw`[\w.-]+` : RegExp.escape(gateway)
  return wordPattern(`${gatewaySource}[:/]${external ? 'external:' : ''}${RegExp.escape(name)}`, caseless)
}

/** A pattern for a name without its gateway. That of one gateway must not follow another gateway. */
function namePattern(
  { gateway, name, caseless }: Identities['wanted'][number],
  gateways: readonly string[],
): RegExp {
  const others = gateway === ANY_GATEWAY ? [] : gateways.filter((other) => other !== gateway)
  const notOfOthers = others.length === 0 ? '' : `(?<!\\b(?:${others.map(RegExp.escape).join('|')})[:/])`
  return wordPattern(`${notOfOthers}${RegExp.escape(name)}`, caseless)
}

/** A pattern for a name that is not a part of a longer one. */
function wordPattern(source: string, isCaseless: boolean): RegExp {
  return new RegExp(String.raw`(?<![\w.@+-])${source}(?![\w@+-]|\.\w)`, isCaseless ? 'i' : '')
}

/**
 * Whether `name` occurs in `text` as a whole, not as a part of a longer name. `longer`: known
 * longer names.
 */
function includesWhole(text: string, name: string, longer: readonly string[] = []): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const isPartOf = (other: string) => other.length > name.length && covers(text, other, at, name)
    if (isWholeAt(text, at, name.length) && !longer.some(isPartOf)) return true
  }
  return false
}

/** Maximum number of separators in a key that are examined. */
const MAX_SEPARATORS = 12

/** All parts of a key that `includesWhole` would find in it. */
export function namesIn(key: string): string[] {
  const separators = [...key.matchAll(/[^\w@+-]/g)].map(({ index }) => index).slice(0, MAX_SEPARATORS)
  const starts = [0, ...separators.map((at) => at + 1)]
  const ends = [...separators, key.length]
  return starts.flatMap((start) =>
    ends.flatMap((end) => (end > start && isWholeAt(key, start, end - start) ? [key.slice(start, end)] : [])),
  )
}

/** Whether the `name` at index `at` of `text` is a part of the longer name `other` there. */
function covers(text: string, other: string, at: number, name: string): boolean {
  for (let within = other.indexOf(name); within >= 0; within = other.indexOf(name, within + 1)) {
    const start = at - within
    if (start >= 0 && text.startsWith(other, start) && isWholeAt(text, start, other.length)) return true
  }
  return false
}

/** As in `wordPattern`: `room-1`, `room.1` and `room@1` are other conversations than `room`. */
function isWholeAt(text: string, at: number, length: number): boolean {
  return (
    !/[\w.@+-]/.test(text[at - 1] ?? '') &&
    !/^(?:[\w@+-]|\.\w)/.test(text.slice(at + length, at + length + 2))
  )
}
