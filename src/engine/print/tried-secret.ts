import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { withSecond } from '../../lib/second-secret.ts'

/** The settings with which deliveries are verified. */
const IN_VERIFY = /(^|\.)verify\./
const REPEAT = 'The sender must repeat what was refused.'

/**
 * `refused-try`: whether the secret fits, and where to set it. `result` may also have `secrets`, the
 * places of those of the gateway, and `isChanged`: nothing was accepted since it was changed.
 */
export function humanTriedSecret(result: Json, { gateway }: JsonObject): string {
  const tried: JsonObject = Object(result)
  const { ok, fits, reason, isTrimmed, isInForce } = tried
  const verdict = ok === true ? 'fits this delivery' : `does not fit this delivery: ${reason}`
  const blanks = 'The blanks around it were removed for this check. They must not be in .env.'
  const inForce =
    ok === true ? `It is in force already. ${REPEAT}` : 'It is in force already: the sender has another one.'
  const set = ok === true ? placesOf(String(gateway), tried) : []
  return [
    `The secret ${verdict} (${fits} of ${tried.tried} kept deliveries).`,
    ...(isTrimmed === true ? [blanks] : []),
    ...(isInForce === true ? [inForce] : set).map((text) => paragraph('  → ', text)),
  ].join('\n')
}

/** Where to set a secret that fits. */
function placesOf(gateway: string, { secrets, isChanged }: JsonObject): string[] {
  const then = `Then run \`trivium reload\`. ${REPEAT}`
  const secret = objectsIn(secrets).find((each) => IN_VERIFY.test(String(each.setting)))
  if (!secret) return [`Add it to \`verify\` of the gateway ${gateway} in routes.yaml. ${then}`]
  const { file, line } = secret
  const setting = String(secret.setting)
  const variables = Array.isArray(secret.variables) ? secret.variables.map(String) : []
  const place = `${file}${line === undefined ? '' : `, line ${line}`}`
  if (isChanged === true && variables.length > 1)
    return [
      `Set \`${variables.at(-1)}\` in .env to it: nothing was accepted since it was changed. It is in \`${setting}\` (${place}) already. ${then}`,
    ]
  const { added, line: several } = withSecond({ setting, variables })
  const [old] = variables
  const first = `Set \`${added}\` in .env to it, and list it in \`${setting}\` of ${gateway} (${place}): \`${several}\`. ${then}`
  const only = `If the sender signs only with the new one, change \`${old}\` in .env instead.`
  return old === undefined ? [first] : [first, only]
}
