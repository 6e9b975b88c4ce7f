import { z } from 'zod'
import { partsOf, withoutCase } from '../../core/identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'

/**
 * One person, and what leads to their data: the ids of their messages, conversations in which nobody else
 * wrote (`gateway/conversation`), and files that nobody else sent (SHA-256).
 */
export type Person = {
  identities: readonly string[]
  messages: ReadonlySet<string>
  conversations: ReadonlySet<string>
  files: ReadonlySet<string>
}

export const personSchema = z.object({
  identities: z.array(z.string()),
  messages: z.array(z.string()),
  conversations: z.array(z.string()),
  files: z.array(z.string()),
})

/**
 * The person that a job erases, kept until it ends: the ids of their messages are needed after the messages
 * are gone.
 */
export const SUBJECT = 'person-erase-subject:'

export type StoredPerson = z.infer<typeof personSchema>

export function toStored({ identities, messages, conversations, files }: Person): StoredPerson {
  return {
    identities: [...identities],
    messages: [...messages],
    conversations: [...conversations],
    files: [...files],
  }
}

export function fromStored({ identities, messages, conversations, files }: StoredPerson): Person {
  return {
    identities,
    messages: new Set(messages),
    conversations: new Set(conversations),
    files: new Set(files),
  }
}

export const placeOf = ({ gateway, conversation }: Pick<Message, 'gateway' | 'conversation'>) =>
  `${gateway}/${conversation}`

/** Stands for all gateways. */
export const ANY = '*'
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
const HASH = /\b[0-9a-f]{64}\b/g
/** Fields that name a person in objects with a gateway. */
const NAMED_IN = ['from', 'sender', 'user', 'by', 'to', 'recipient']
/** A name inside a longer text does not make the text the person's. */
const NAMING = 500

/** Recognises these people. Addresses ignore case, as do identities of gateways without case. */
export function createIdentities(identities: readonly string[], isCaseless: (gateway: string) => boolean) {
  const wanted = identities.map((identity) => {
    const { gateway, name, external } = partsOf(identity)
    const caseless = name.includes('@') || (gateway !== ANY && isCaseless(gateway))
    return { gateway, external, caseless, name: caseless ? withoutCase(name) : name }
  })
  /**
   * An id without its gateway may belong to someone else on another gateway. Only addresses, and ids given
   * for every gateway, are sufficient.
   */
  const alone = wanted.filter(({ gateway, name }) => gateway === ANY || name.includes('@'))
  const isName = (text: string) =>
    alone.some(({ name, caseless }) => (caseless ? withoutCase(text) : text) === name)
  const isOn = (on: string, who: string, isExternal = false) =>
    wanted.some(
      ({ gateway, name, external, caseless }) =>
        (gateway === ANY || gateway === on) &&
        external === isExternal &&
        (caseless ? withoutCase(who) : who) === name,
    )
  return {
    ...{ wanted, alone, isName },
    /** Whether this is the person on a gateway, by address or id. */
    isOn,
    isSender: ({ gateway, from }: Pick<Message, 'gateway' | 'from'>) =>
      [from.address, from.id].some(
        (who) => who !== undefined && who !== '' && isOn(gateway, who, from.external),
      ),
  }
}

export type Identities = ReturnType<typeof createIdentities>
export type References = ReturnType<typeof createReferences>

/** Recognises values about a person, by their names or by what leads to their data. */
export function createReferences(person: Person, { wanted, alone, isName, isOn, isSender }: Identities) {
  const tokens = wanted.map(({ gateway, name, external, caseless }) => {
    const on = gateway === ANY ? String.raw`[\w.-]+` : RegExp.escape(gateway)
    const who = `${on}[:/]${external ? 'external:' : ''}${RegExp.escape(name)}`
    return new RegExp(String.raw`(?<![\w.@+-])${who}(?![\w@+-]|\.\w)`, caseless ? 'i' : '')
  })
  const names = alone
    .filter(({ name }) => name.includes('@') || name.length >= 8)
    .map(({ name, caseless }) => {
      const source = String.raw`(?<![\w.@+-])${RegExp.escape(name)}(?![\w@+-]|\.\w)`
      return new RegExp(source, caseless ? 'i' : '')
    })
  const places = [...person.conversations]
  const isTheirPlace = (text: string) =>
    person.conversations.has(text) || places.some((place) => text.includes(place) && isWhole(text, place))

  /** Whether a text names the person or their data, as an id, a key or a lane does. */
  function mentions(text: string): boolean {
    if (text === '') return false
    for (const [id] of text.matchAll(ID)) if (person.messages.has(id)) return true
    for (const [hash] of text.matchAll(HASH)) if (person.files.has(hash)) return true
    if (text.length > NAMING) return false
    return isName(text) || tokens.some((token) => token.test(text)) || isTheirPlace(text)
  }

  /** Whether an object names the person and the gateway. */
  function isTheirs(value: JsonObject): boolean {
    const on = value.gateway ?? value.channel
    if (typeof on !== 'string') return false
    return NAMED_IN.some((key) => {
      const { address, id, external } = Object(value[key])
      const given = typeof value[key] === 'string' ? [value[key]] : [address, id]
      return given.some((who) => typeof who === 'string' && isOn(on, who, external === true))
    })
  }

  /** Whether the whole object is about the person. */
  const isAbout = (value: JsonObject) =>
    isTheirs(value) || Object.values(value).some((each) => typeof each === 'string' && mentions(each))

  function refersTo(value: Json): boolean {
    if (typeof value === 'string') return mentions(value)
    if (Array.isArray(value)) return value.some(refersTo)
    if (!isJsonObject(value)) return false
    return isTheirs(value) || Object.entries(value).some(([key, each]) => mentions(key) || refersTo(each))
  }

  /** The value without the smallest parts that are about the person; undefined if nothing remains. */
  function without(value: Json): Json | undefined {
    if (!refersTo(value)) return value
    if (Array.isArray(value)) return value.map(without).filter((each) => each !== undefined)
    if (!isJsonObject(value)) return undefined
    if (isAbout(value)) return undefined
    const left = Object.entries(value).flatMap(([key, each]) => {
      const kept = mentions(key) ? undefined : without(each)
      return kept === undefined ? [] : [[key, kept] as const]
    })
    return left.length === 0 ? undefined : Object.fromEntries(left)
  }

  /** The parts that `without` removes. */
  function partsOf(value: Json): Json[] {
    if (!refersTo(value)) return []
    if (Array.isArray(value)) return value.flatMap(partsOf)
    if (!isJsonObject(value)) return [value]
    if (isAbout(value)) return [value]
    return Object.entries(value).flatMap(([key, each]) => (mentions(key) ? [{ [key]: each }] : partsOf(each)))
  }

  return {
    ...{ isOn, isSender, isName, mentions, refersTo, without, partsOf },
    /** Like `mentions`, but also if a name is a part of a key. */
    isInKey: (key: string) => mentions(key) || names.some((name) => name.test(key)),
  }
}

/** Whether `part` occurs in `text` as a whole name, and not as a part of another. */
function isWhole(text: string, part: string): boolean {
  const at = text.indexOf(part)
  const [before, after] = [text[at - 1] ?? '', text[at + part.length] ?? '']
  return !/[\w.-]/.test(before) && !/\w/.test(after)
}
