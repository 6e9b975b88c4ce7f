import { PROVIDER_EXAMPLES } from '../../transports/webhook/examples/all.ts'
import {
  type Chat,
  noteSentence,
  type ProviderExample,
  secretVariable,
  variable,
} from '../../transports/webhook/examples/example.ts'
import { gatewayYaml } from '../../transports/webhook/examples/gateway-yaml.ts'
import { MARKS } from '../../transports/webhook/examples/marks.ts'
import { TriviumError } from '../core/errors.ts'
import { nearest, quote } from '../lib/nearest.ts'

/** What to do with the gateway of a provider. Texts are plain. */
export type ProviderGateway = {
  provider: string
  /** Compared with a library, a test vector or an example of the provider. */
  compared: boolean
  documentation: string[]
  gateway: string
  /** The address to enter at the provider. It begins with `https://HOST` if it is not known. */
  address: string
  /** The variables of the gateway, with where to find their values. */
  variables: Record<string, string>
  notes: string[]
  /** The gateway and its route, as in routes.yaml. */
  yaml: string
}

/** The beginning of a note without which the gateway does not work. */
export const READ_FIRST = 'Read first: '

const PUBLIC_URL = 'TRIVIUM_PUBLIC_URL'

/** What the user asked for. */
type Wanted = {
  /** The name of the provider, which is the default name of the gateway. */
  given: string
  name?: string | undefined
  path?: string | undefined
  /** The public address of Trivium, if it is known. */
  publicUrl?: string | undefined
  /** Whether TRIVIUM_PUBLIC_URL is set. */
  isUrlSet?: boolean
}

/** Finds a provider by the name of its gateway, one of its other names, or its title. */
export function providerNamed(name: string): ProviderExample {
  const wanted = slug(name)
  const found = PROVIDER_EXAMPLES.find((example) => namesOf(example).includes(wanted))
  if (found) return found
  const ids = PROVIDER_EXAMPLES.flatMap(namesOf)
  const words = wanted.split('-')
  const near =
    nearest(wanted, ids) ?? ids.find((id) => words.includes(id) || (wanted !== '' && id.includes(wanted)))
  throw new TriviumError('not_found', {
    path: `example for a provider ${quote(name)}`,
    hint: `${near === undefined ? '' : ` Did you mean ${near}?`} \`trivium gateway example\` lists them.`,
  })
}

/** The providers with a word in one of their names; all without a word. */
export function providersWith(word = ''): ProviderExample[] {
  const wanted = word.toLowerCase()
  return PROVIDER_EXAMPLES.filter((example) =>
    [example.name.toLowerCase(), ...namesOf(example)].some((name) => name.includes(wanted)),
  )
}

/** The gateway of a provider. */
export function providerGateway(
  example: ProviderExample,
  { given, name, path, publicUrl, isUrlSet }: Wanted,
): ProviderGateway {
  const own = example.also?.find((one) => one === slug(given)) ?? example.id
  const gateway = name ?? own
  const place = path ?? `/hooks/${gateway}`
  const host = publicUrl?.replace(/\/+$/, '') ?? 'https://HOST'
  const event = example.eventOf?.[own] ?? example.exampleEvent
  const chat = example.chats?.[own] ?? example.chats?.[example.id]
  // A gateway that checks its own address waits for the variable.
  const root = publicUrl === undefined ? variable(PUBLIC_URL) : host
  const yaml = gatewayYaml(example, { name: gateway, path: place, address: `${root}${place}`, event, chat })
  const { marks = [], notes = [], docs = {} } = example
  const needsUrl = (marks.includes('signs the address') && !isUrlSet) || yaml.includes(variable(PUBLIC_URL))
  return {
    provider: example.name,
    compared: example.isCompared === true,
    documentation: typeof docs === 'string' ? [docs] : linksFor(own, docs),
    gateway,
    address: addressOf(example, `${host}${place}`),
    variables: {
      ...(example.secret !== undefined && { [secretVariable(example, gateway)]: secretNote(example) }),
      ...plainValues(example.variables),
      ...(needsUrl && { [PUBLIC_URL]: `the public address of Trivium: ${host}` }),
    },
    notes: [
      ...chatNote(chat),
      ...marks.map((mark) => `${mark}: ${plain(MARKS[mark])}`),
      ...notes.map((note) => plain(noteSentence(note))),
      ...sectionNote(example),
    ],
    yaml,
  }
}

/** The address to enter, with the word SECRET if the secret is a part of it. */
function addressOf({ verify, secret = '' }: ProviderExample, address: string): string {
  if (verify.scheme === 'query') return `${address}?${verify.name}=SECRET`
  return secret.includes('@HOST/PATH') ? address.replace('://', `://${verify.user}:SECRET@`) : address
}

/** Where to find the secret. If it is a part of the address, the address shows it. */
function secretNote(example: ProviderExample): string {
  const { secret = '' } = example
  return addressOf(example, '').includes('SECRET') || /@HOST/.test(secret) ? 'you choose it' : plain(secret)
}

function namesOf({ id, name, also = [] }: ProviderExample): string[] {
  return [id, ...also, slug(name)]
}

/** The page for a name, if there is one; otherwise all pages. */
function linksFor(name: string, pages: Readonly<Record<string, string>>): string[] {
  const own = Object.keys(pages).find((title) => slug(title) === name)
  return Object.values(own === undefined ? pages : { own: pages[own] ?? '' })
}

function slug(text: string): string {
  return (
    text
      .toLowerCase()
      .match(/[a-z0-9]+/g)
      ?.join('-') ?? ''
  )
}

function plainValues(texts: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, plain(text)]))
}

function chatNote(chat: Chat | undefined): string[] {
  if (chat === undefined) return []
  const place = `docs/chats.md#${chat.section}`
  if (chat.takesText) return [`The text that a skill returns is the answer: see ${place}.`]
  return [
    chat.section === 'other-chats'
      ? `To answer people, write a skill that calls the chat, see ${place}: the reply of \`echo\` does not reach them.`
      : `To answer people, take the skill of ${place}: the reply of \`echo\` does not reach them.`,
  ]
}

function sectionNote({ note, readFirst }: ProviderExample): string[] {
  if (note === undefined) return []
  const place = note.includes('.md#') ? note : `webhook-providers.md#${note}`
  return [readFirst ? `${READ_FIRST}docs/${place}.` : `See docs/${place}.`]
}

/** Markdown without emphasis, and with the files of its links. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\(#([^)]*)\)/g, '$1 (docs/webhook-providers.md#$2)')
    .replaceAll(/\[([^\]]+)\]\((?!https?:)([^)]*)\)/g, '$1 (docs/$2)')
    .replaceAll(/(\*\*?)([^*]+)\1/g, '$2')
}
