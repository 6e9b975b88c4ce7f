import type { JsonObject } from '../../../src/core/json.ts'
import type { Mark } from './marks.ts'

/**
 * How to verify the webhooks of a provider: a section of docs/reference/webhook-providers.md, and a
 * gateway of `trivium gateway example`. Texts are Markdown with links as in
 * docs/webhook-providers.md.
 */
export type ProviderExample = {
  /** The name of the gateway, the end of its path, and the anchor of its section. */
  id: string
  /** The name or names of the provider: the title of its section. */
  name: string
  /** Further names of the provider, as a gateway could have them. */
  also?: readonly string[]
  /** Compared with a library, a test vector or an example of the provider. */
  isCompared?: true
  /** Options of `verify`, without the secret. */
  verify: JsonObject
  /** Where the provider shows the secret, or how one chooses it. Missing if there is none. */
  secret?: string
  /** The variable of the secret. Default: made from the name of the gateway. */
  variable?: string
  /** Options of the gateway, beside `verify`. */
  options?: JsonObject
  /** An event of the provider, for a route. Missing if no field names the event. */
  exampleEvent?: string
  /** Such an event for a name in `also`. */
  eventOf?: Readonly<Record<string, string>>
  /** Variables in `verify` and `options` beside the secret, with where to find their values. */
  variables?: Readonly<Record<string, string>>
  /** A second gateway, with another path. */
  second?: { suffix: string; path: string; options: JsonObject }
  marks?: readonly Mark[]
  /** How to answer people, by name of the gateway: the provider is a chat. */
  chats?: Readonly<Record<string, Chat>>
  /** Remarks with nothing to copy. */
  notes?: readonly string[]
  /** The anchor of a section about the provider. */
  note?: string
  /** The gateway does not work without what the section says. */
  readFirst?: true
  /** The documentation of the provider: one page, or a page for each name. */
  docs?: string | Readonly<Record<string, string>>
}

/** How a skill answers in a chat. */
export type Chat = {
  /** The section of docs/chats.md. */
  section: string
  /** Options of the gateway with which a skill can answer. */
  options?: JsonObject
  /** Whether the text that a skill returns is the answer. */
  takesText?: true
}

/** A reference to a variable in routes.yaml. */
export function variable(name: string): string {
  return `\${${name}}`
}

/** The variable for the secret of a gateway with this name. */
export function secretVariable({ id, variable: own, verify }: ProviderExample, gateway: string): string {
  // The name of a variable cannot begin with a digit.
  const words = /^\d/.test(gateway) ? `${id}_${gateway}` : gateway
  const name = words.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
  // This secret is in the address and not in a header.
  return own ?? `${name}_${verify.scheme === 'query' ? 'CODE' : 'SECRET'}`
}

/** `verify` with the reference to its secret. */
export function completeVerify(example: ProviderExample, gateway = example.id): JsonObject {
  if (example.secret === undefined) return example.verify
  return { ...example.verify, secret: variable(secretVariable(example, gateway)) }
}

/** A note as a sentence: `answers …` is said of the gateway. */
export function noteSentence(note: string): string {
  const sentence = note.replace(/^(answers|confirms|decrypts) /, 'The gateway $1 ')
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}
