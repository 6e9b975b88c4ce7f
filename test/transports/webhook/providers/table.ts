import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../../src/core/json.ts'
import { PROVIDER_EXAMPLES } from '../../../../transports/webhook/examples/all.ts'

/** The guide, with the steps, the presets and the notes. */
export const guide = pageOf('webhook-providers')

/** The page with a section for each provider. */
export const reference = pageOf('reference/webhook-providers')

/** A provider, from the data that the page is generated from. */
export type ProviderRow = {
  provider: string
  /** The anchor of the section, which the index at the top of the page links to. */
  anchor: string
  /** Marked with ✓: compared with a library, a vector or an example of the provider. */
  isCompared: boolean
  verify: Record<string, unknown>
  hasSecret: boolean
  options: Record<string, unknown>
  /** An event of the provider, which `trivium gateway example` matches. */
  exampleEvent: string | undefined
  /** Marks and remarks. */
  notes: readonly string[]
  /** Links to the provider's own pages. */
  documentation: string[]
}

/** Schemes that know no provider. */
const GENERAL = ['hmac', 'hash', 'jwt', 'header', 'bearer', 'basic', 'query', 'public-key']

/** Whether Trivium knows the provider: `verify` is all that it needs. */
export function isPreset({ verify }: ProviderRow): boolean {
  return !GENERAL.includes(String(verify.scheme))
}

/** All providers. */
export function providerRows(): ProviderRow[] {
  return PROVIDER_EXAMPLES.map((example) => ({
    provider: example.name,
    anchor: example.id,
    isCompared: example.isCompared === true,
    verify: withoutVariables(example.verify),
    hasSecret: example.secret !== undefined,
    options: withoutVariables(example.options ?? {}),
    exampleEvent: example.exampleEvent,
    notes: [...(example.marks ?? []), ...(example.notes ?? [])],
    documentation: typeof example.docs === 'string' ? [example.docs] : Object.values(example.docs ?? {}),
  }))
}

/** Variables have their name as value. */
function withoutVariables(options: JsonObject): Record<string, unknown> {
  return JSON.parse(JSON.stringify(options).replaceAll(/\$\{(\w+)\}/g, '$1'))
}

/** The cells of each row of the tables in a section of the guide, without their headings. */
export function tableBelow(heading: string): string[][] {
  const [, section = ''] = guide.split(`\n## ${heading}\n`)
  const [own = ''] = section.split('\n## ')
  return own
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| provider/.test(line) && !line.startsWith('| ---'))
    .map((line) =>
      line
        .slice(2)
        .split(' |')
        .map((cell) => cell.trim()),
    )
}

/** The first YAML block in the section with this heading. */
export function yamlBelow(page: string, heading: string): string {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  return /```yaml\n(.*?)```/s.exec(section)?.[1] ?? ''
}

function pageOf(name: string): string {
  return readFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url), 'utf8')
}

/** A body with a sender that nobody signed; unchanged if it is neither JSON nor a form. */
export function withStranger(body: string): string {
  const field = '"user_username":"mallory"'
  if (/^\[/.test(body)) return body.replace(/\]\s*$/, `,{${field}}]`)
  if (/^\{/.test(body)) return body.replace(/\}\s*$/, `,${field}}`)
  const form = new URLSearchParams(body)
  const [[name, value] = ['', '']] = [...form]
  if (!/^[\w-]+=/.test(body)) return body
  if (/^[[{]/.test(value)) form.set(name, withStranger(value))
  else form.set('user_username', 'mallory')
  return form.toString()
}
