import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** The page with the table of providers. */
export const guide = readFileSync(new URL('../../../../docs/webhook-providers.md', import.meta.url), 'utf8')

/**
 * A row of the table of providers. Its fourth column is a list of options of the gateway, and of
 * notes.
 */
export type ProviderRow = {
  provider: string
  /** The anchor of the row, which the index at the top of the page links to. */
  anchor: string | undefined
  /** Marked with ✓: compared with a library, a vector or an example of the provider. */
  isCompared: boolean
  verify: string
  hasSecret: boolean
  options: Record<string, unknown>
  notes: string[]
  /** Links to the provider's own pages. */
  documentation: string[]
}

/** Schemes that know no provider. */
const GENERAL = /scheme: (hmac|hash|jwt|header|bearer|basic|query|public-key)\b/

/** Whether Trivium knows the provider of a row: `verify` is all that it needs. */
export function isPreset({ verify }: ProviderRow): boolean {
  return verify.startsWith('`') && !GENERAL.test(verify)
}

/** The rows of the table of providers. */
export function providerRows(): ProviderRow[] {
  return tableBelow('Providers').map(([name = '', verify = '', secret = '', cell = '', docs = '']) => {
    const [, anchor, rest = name] = /^<a id="([^"]+)"><\/a>(.*)$/.exec(name) ?? []
    const items = cell.split('; ')
    const options = items.flatMap((item) => /^`(\w+: .*)`$/.exec(item)?.[1] ?? [])
    return {
      provider: rest.replace(' ✓', '').replace(/^\[(.*)\]\(.*\)$/, '$1'),
      anchor,
      isCompared: rest.endsWith(' ✓'),
      verify,
      hasSecret: secret !== 'none',
      // Variables have their name as value.
      options: parse(options.join('\n').replaceAll(/\$\{(\w+)\}/g, '$1')) ?? {},
      notes: items.filter((item) => !/^`\w+: /.test(item)),
      documentation: Array.from(docs.matchAll(/\]\(([^)]+)\)/g), ([, link = '']) => link),
    }
  })
}

/**
 * The cells of each row of the tables in a section, without their headings and the table of marks.
 */
export function tableBelow(heading: string): string[][] {
  const [, section = ''] = guide.split(`\n## ${heading}\n`)
  const [own = ''] = section.split('\n## ')
  return own
    .split('\n')
    .filter(
      (line) =>
        line.startsWith('| ') && !/^\| (provider|mark|a linked|\*)/.test(line) && !line.startsWith('| ---'),
    )
    .map((line) =>
      line
        .slice(2)
        .split(' |')
        .map((cell) => cell.trim()),
    )
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
