import { LineCounter, parseDocument } from 'yaml'
import { attempt } from '../lib/attempt.ts'
import { defined } from '../lib/defined.ts'
import { isSecretName } from './environment.ts'
import type { Config } from './load-config.ts'
import { lineOf, type PlaceInFile } from './place-in-file.ts'

/** Where a secret of a gateway is configured. `setting`: `imap.pass`. */
export type GatewaySecret = PlaceInFile & { setting: string; variables: string[] }

type AsRead = Config['asRead']

const VARIABLE = /\$\{([A-Za-z_]\w*)/g
/** The secrets of all gateways by name; computed once per configuration. */
const known = new WeakMap<AsRead, Map<string, GatewaySecret[]>>()

/** The settings of a gateway that contain secrets, with the variables they use; never values. */
export function gatewaySecrets(asRead: AsRead, gateway: string): readonly GatewaySecret[] {
  let secrets = known.get(asRead)
  if (!secrets) {
    secrets = new Map(asRead.files.flatMap(secretsIn))
    known.set(asRead, secrets)
  }
  return secrets.get(gateway) ?? []
}

function secretsIn({ file, yaml }: AsRead['files'][number]): [string, GatewaySecret[]][] {
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines })
  const gateways: object = Object(Object(attempt(() => document.toJS())).gateways)
  return Object.entries(gateways).map(([name, options]) => [
    name,
    [...secretTexts(options, [])].map(({ path, text }) => ({
      setting: path.join('.'),
      variables: [...text.matchAll(VARIABLE)].flatMap(([, variable]) => variable ?? []),
      file,
      ...defined({ line: lineOf(document, ['gateways', name, ...path], lines) }),
    })),
  ])
}

/** The texts under keys of secrets. The items of a list, and names in a mapping, are one setting. */
function* secretTexts(
  value: unknown,
  path: readonly string[],
): Generator<{ path: readonly string[]; text: string }> {
  const key = path.at(-1)
  if (key !== undefined && isSecretName(key)) {
    const text = JSON.stringify(value) ?? ''
    if (text !== 'null' && text !== '') yield { path, text }
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) yield* secretTexts(part, [...path, name])
}
