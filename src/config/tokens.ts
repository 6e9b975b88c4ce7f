import { z } from 'zod'
import type { ProgramToken } from '../core/call.ts'
import { noSuch, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { RoutedSkill } from './gateways.ts'

const names = z.array(z.string().min(1)).min(1)

/** The section `tokens:`: bearer tokens of programs for the control API. */
export const tokensSchema = z.array(
  z.strictObject({
    name: z.string().regex(/^\w[\w.-]{0,63}$/, 'expected letters, digits, and _ . - inside'),
    token: z.string().min(16, 'expected at least 16 characters'),
    skills: names.describe('The skills that it may ask for; globs may stand.'),
    gateways: names.describe('The gateways whose messages it may take, see and answer; "*" means all.'),
  }),
)

/** Parses the section and checks it against the gateways, and against the skills where they are known. */
export function parseTokens(
  raw: unknown,
  world: {
    gateways: readonly string[]
    skills: readonly RoutedSkill[] | undefined
    control: string | undefined
  },
  checker: Checker,
): readonly ProgramToken[] {
  const tokens = checker.section(tokensSchema, raw ?? [], ['tokens']) ?? []
  const gateways = [...world.gateways, '*']
  const skills = world.skills?.map(({ name }) => name)
  for (const [at, { name, token, ...rights }] of tokens.entries()) {
    const report = (key: string, message: string, ...index: number[]) =>
      checker.report(['tokens', at, key, ...index], 'value', message)
    const others = tokens.slice(0, at)
    if (others.some((other) => other.name === name)) report('name', `there are two tokens ${quote(name)}`)
    const known = [world.control, ...others.map((other) => other.token)]
    if (known.includes(token)) report('token', 'it is another token too; each must be a secret of its own')
    for (const [index, gateway] of rights.gateways.entries()) {
      if (!gateways.includes(gateway)) report('gateways', noSuch('gateway', gateway, world.gateways), index)
    }
    for (const [index, skill] of rights.skills.entries()) {
      if (!skills || skills.includes(skill) || /[*?[{/]/.test(skill)) continue
      report('skills', noSuch('skill', skill, skills), index)
    }
  }
  return tokens
}
