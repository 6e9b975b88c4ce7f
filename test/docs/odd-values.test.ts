import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { readConfig } from '../../src/config/load-config.ts'
import { reasonOf } from '../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { transports } from '../../transports/registry.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { blocksOf, pages, placeOf } from './blocks.ts'
import { merged, partOf, valuesForVariables } from './yaml.ts'

const UNSET = '$' + '{UNSET}'
/** Values by mistake: an unset variable, nothing, and values of other types. */
const ODD_VALUES: readonly Json[] = [UNSET, '', 'odd', -1, null, [], {}, [{}]]

/** Configurations with keys that need each other. The pages show only some of them. */
const MORE = `
gateways:
  chat: { transport: websocket, path: /chat, jwt: { secret: "$\{SECRET}", issuer: me } }
  signed: { transport: webhook, path: /signed, verify: { scheme: jwt, secret: "$\{SECRET}", audience: me } }
`

/**
 * Copies of a value, each with one part replaced. A variable only replaces texts, numbers and
 * booleans.
 */
function* variantsOf(value: Json, replacement: Json): Generator<Json> {
  if (replacement !== UNSET || !(value instanceof Object)) yield replacement
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const variant of variantsOf(item, replacement)) yield value.with(index, variant)
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value))
      for (const variant of variantsOf(item, replacement)) yield { ...value, [key]: variant }
  }
}

function configurationOf(code: string): JsonObject | undefined {
  const part = partOf(code)
  return part.kind === 'configuration' ? part.value : undefined
}

test('a wrong value at any place of a configuration causes no internal error, and an unset variable is named', async (t) => {
  const cwd = temporaryDir(t)
  const blocks = pages
    .flatMap(blocksOf)
    .filter(({ language, attributes }) => language === 'yaml' && !attributes.has('no-run'))
    .map((block) => ({ place: placeOf(block), code: block.code }))
  const seen = new Set<string>()
  const wrong: string[] = []

  async function check(place: string, code: string, odd: Json, variant: Json) {
    const file = stringify(isJsonObject(variant) ? merged({ gateways: {} }, variant) : variant)
    if (seen.has(file)) return
    seen.add(file)
    writeFileSync(join(cwd, 'routes.yaml'), file)
    try {
      const { config, problems } = await readConfig({ env: valuesForVariables(code), cwd, transports })
      const isNamed = problems.some(({ message }) => message.includes('UNSET'))
      if (odd === UNSET && !config && !isNamed)
        wrong.push(`${place}: UNSET is not named: ${problems.map((p) => p.message).join()}\n${file}`)
    } catch (error) {
      wrong.push(`${place}: ${reasonOf(error)}\n${file}`)
    }
  }

  for (const { place, code } of [...blocks, { place: 'MORE', code: MORE }]) {
    const value = configurationOf(code)
    if (!value) continue
    for (const odd of ODD_VALUES)
      for (const variant of variantsOf(value, odd)) await check(place, code, odd, variant)
  }
  assert.ok(seen.size > 5_000, `${seen.size} configurations`)
  assert.deepEqual(wrong.slice(0, 20), [])
})
