import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { wrapped } from '../../../src/lib/paragraph.ts'
import { type Chat, completeVerify, type ProviderExample } from './example.ts'
import { flowYaml, optionLines } from './flow-yaml.ts'

/** The gateway to write: its name, path and public address, an event for the route, and its chat. */
export type GatewayPlace = {
  name: string
  path: string
  address: string
  event?: string | undefined
  chat?: Chat | undefined
}

/** Longer options are written as a block: with their indent, they fit on the page. */
const LONGEST_LINE = 74

/** The gateway of a provider, and a route that matches it, as in routes.yaml. */
export function gatewayYaml(
  example: ProviderExample,
  { name, path, address, event, chat }: GatewayPlace,
): string {
  const verify = completeVerify(example, name)
  const { options = {}, second } = example
  const own = { transport: 'webhook', path, verify, ...options, ...chat?.options, enabled: 'auto' }
  const others: [string, JsonObject][] = second
    ? [
        [
          `${name}-${second.suffix}`,
          { transport: 'webhook', path: second.path, verify, ...second.options, enabled: 'auto' },
        ],
      ]
    : []
  const gateways = [[name, own] as const, ...others].flatMap(([key, gateway]) => [
    `  ${flowYaml(key)}:`,
    ...indented(indented(lines(gateway))),
  ])
  const match = { gateway: name, ...(event !== undefined && { event }) }
  const [first = '', ...rest] = optionLines({ name, match, skill: 'echo' })
  const route = [`  - ${first}`, ...indented(indented(rest))]
  return ['gateways:', ...gateways, 'routes:', ...route]
    .join('\n')
    .replaceAll('https://HOST/PATH', () => address)
}

/** Options as lines: each on one line if that is short enough, or else as a block. */
function lines(options: Readonly<Record<string, Json>>): string[] {
  return Object.entries(options).flatMap(([key, value]) => {
    const [line = ''] = optionLines({ [key]: value })
    if (line.length <= LONGEST_LINE) return [line]
    if (isJsonObject(value)) return [`${key}:`, ...indented(lines(value))]
    return typeof value === 'string' ? textBlock(key, value) : [line]
  })
}

/** A long text: folded between its words, or else broken after each `{…}` of a template. */
function textBlock(key: string, text: string): string[] {
  if (text.includes(' ')) return [`${key}: >-`, ...indented(wrapped(text, LONGEST_LINE))]
  const pieces = text.match(/[^}]+\}?:?/g) ?? []
  return [
    `${key}: "\\`,
    ...indented(pieces.map((piece, at) => piece + (at < pieces.length - 1 ? '\\' : '"'))),
  ]
}

function indented(block: readonly string[]): string[] {
  return block.map((line) => `  ${line}`)
}
