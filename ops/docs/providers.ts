import GithubSlugger from 'github-slugger'
import { providerGateway } from '../../src/cli/provider-gateway.ts'
import { PROVIDER_EXAMPLES } from '../../transports/webhook/examples/all.ts'
import {
  noteSentence,
  type ProviderExample,
  secretVariable,
} from '../../transports/webhook/examples/example.ts'
import { optionLines } from '../../transports/webhook/examples/flow-yaml.ts'
import { MARKS, markAnchor } from '../../transports/webhook/examples/marks.ts'
import { code, page } from './markdown.ts'

/** The guide, whose sections the providers link to. */
const GUIDE = '../webhook-providers.md'

const INTRODUCTION = `The gateways of ${PROVIDER_EXAMPLES.length} providers, to copy. Follow [the steps](${GUIDE}#verify-a-webhook). In short:

1. In your \`routes.yaml\`, add the gateway below \`gateways:\`, and the route below \`routes:\`. Or save both as a file that
   [\`include\`](../several-files.md) names.
2. Put the variables in the list below the gateway into [\`.env\`](../settings.md#env). With \`enabled: auto\`, the gateway
   starts as soon as all of them are set.
3. If the provider [signs the address](${GUIDE}#mark-signs-the-address), set \`TRIVIUM_PUBLIC_URL\`.
4. At the provider, enter the address: your public host name and \`path\`.

**✓**: the signature check was compared with a library, a test vector or an example of the provider. **Not compared**:
written from the documentation of the provider, or without it if none was found; rely on it only after a real test event
was accepted. Events, senders and conversations were not compared: [check them](${GUIDE}#event-and-sender) with a test
event.

\`trivium gateway example NAME\` prints the same in a terminal, with the path and address of your choice. A provider that is
not here: see [another provider](${GUIDE}#another-provider).`

/** docs/reference/webhook-providers.md: a section for each provider. */
export function providersPage(): string {
  return page('Gateways of webhook providers', INTRODUCTION, [index(), ...PROVIDER_EXAMPLES.map(section)])
}

/** The names of all providers by their first letter. */
function index(): string {
  const entries = PROVIDER_EXAMPLES.flatMap((example) =>
    indexNames(example).map((name) => ({
      name,
      link: `[${name}](#${example.id})${example.isCompared ? ' ✓' : ''}`,
    })),
  ).sort((one, two) => (one.name.toLowerCase() < two.name.toLowerCase() ? -1 : 1))
  const letters = Map.groupBy(entries, ({ name }) => name.charAt(0).toUpperCase())
  return Array.from(
    letters,
    ([letter, own]) => `- **${letter}**: ${own.map(({ link }) => link).join(' · ')}`,
  ).join('\n')
}

/** `Meta (Facebook, WhatsApp)` is Meta, Facebook and WhatsApp; `Front (rule)` is one name. */
function indexNames({ name }: ProviderExample): string[] {
  return name.includes(', ') ? name.split(/, | \(|\)/).filter((part) => part !== '') : [name]
}

function section(example: ProviderExample): string {
  const { id, name, isCompared, note, readFirst } = example
  const hasOwnAnchor = new GithubSlugger().slug(name) !== id
  const gateway = providerGateway(example, { given: id })
  return [
    ...(hasOwnAnchor ? [`<a id="${id}"></a>`] : []),
    `## ${name}`,
    [isCompared ? '✓ Compared' : 'Not compared', ...documentation(example)].join(' · '),
    ...(note !== undefined && readFirst ? [`**Read [how it works](${guideLink(note)}) first.**`] : []),
    `\`\`\`yaml\n${gateway.yaml}\n\`\`\``,
    [...variables(example, Object.keys(gateway.variables)), ...remarks(example)]
      .map((remark) => `- ${remark}`)
      .join('\n'),
  ].join('\n\n')
}

function documentation({ docs }: ProviderExample): string[] {
  if (docs === undefined) return ['no documentation was found']
  if (typeof docs === 'string') return [`[documentation](${docs})`]
  return [
    `documentation of ${Object.entries(docs)
      .map(([each, link]) => `[${each}](${link})`)
      .join(', ')}`,
  ]
}

/** The variables of the gateway, with where to find their values. */
function variables(example: ProviderExample, names: readonly string[]): string[] {
  const { secret, variables = {} } = example
  const own = secretVariable(example, example.id)
  const texts: Record<string, string> = {
    TRIVIUM_PUBLIC_URL: 'the public address of Trivium, such as `https://hooks.example.com`',
    ...variables,
    ...(secret !== undefined && { [own]: secretNote(example, secret) }),
  }
  return [
    ...(secret === undefined ? ['There is no secret.'] : []),
    ...names.map((name) => `${code(name)}: ${fromReference(texts[name] ?? '')}`),
  ]
}

function secretNote({ id, verify }: ProviderExample, secret: string): string {
  const address = `https://HOST/hooks/${id}`
  if (verify.scheme !== 'query')
    return secret
      .replace(/^you choose it: /, 'you choose it, and enter it as ')
      .replace('@HOST/PATH', `@HOST/hooks/${id}`)
  return `you choose it, and enter the address with it: \`${address}?${verify.name}=SECRET\` ([keep it out of logs](#secret-in-the-address))`
}

/** Marks and other facts, one a line. */
function remarks(example: ProviderExample): string[] {
  const { name, eventOf = {}, exampleEvent, chats = {}, marks = [], notes = [], note, readFirst } = example
  const others = Object.entries(eventOf).filter(([, event]) => event !== exampleEvent)
  return [
    ...(exampleEvent === undefined ? ['No field names the event: the route matches the gateway alone.'] : []),
    ...(others.length > 0
      ? [`Events: ${others.map(([own, event]) => `${titleOf(example, own)} ${code(event)}`).join(', ')}`]
      : []),
    ...(Object.keys(chats).length > 0 ? [`To answer people: ${chatLinks(example)}`] : []),
    ...marks.map((mark) => fromReference(`[${mark}](#${markAnchor(mark)}): ${MARKS[mark]}`)),
    ...notes.map((text) => fromReference(noteSentence(text))),
    ...(note === undefined || readFirst ? [] : [`More about [${name}](${guideLink(note)})`]),
  ]
}

/** The sections of the page of chats, by the names of the chats. */
function chatLinks(example: ProviderExample): string {
  const { id, name, chats = {} } = example
  return Object.entries(chats)
    .map(([chat, { section, options }]) => {
      if (chat === id) return `[${name}](../chats.md#${section})`
      const more = options === undefined ? '' : ` (with ${optionLines(options).map(code).join(', ')})`
      return `[${titleOf(example, chat)}](../chats.md#${section})${more}`
    })
    .join(', ')
}

/** The name of one of several providers in a section. */
function titleOf(example: ProviderExample, own: string): string {
  return indexNames(example).find((name) => name.toLowerCase() === own) ?? own
}

function guideLink(note: string): string {
  return note.includes('.md#') ? `../${note}` : `${GUIDE}#${note}`
}

/** Markdown of the guide with its links as seen from the reference. */
function fromReference(markdown: string): string {
  return markdown.replaceAll('](#', `](${GUIDE}#`).replaceAll(/\]\((?=[\w-]+\.md)/g, '](../')
}
