import { mcpServerOf } from '../core/mcp.ts'
import { noSuch } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { RoutedSkill } from './gateways.ts'
import type { Path } from './yaml-file.ts'

/**
 * The skill with this name. Reports an unknown one at `skill` of a path, unless it may be a tool of
 * an MCP server.
 */
export function findSkill(
  name: string,
  path: Path,
  { skills, servers }: { skills: readonly RoutedSkill[]; servers: readonly string[] },
  checker: Checker,
): RoutedSkill | undefined {
  const skill = skills.find((each) => each.name === name)
  if (skill || servers.includes(mcpServerOf(name) ?? '')) return skill
  const names = skills.map((each) => each.name)
  checker.report([...path, 'skill'], 'value', noSuch('skill', name, names))
  return undefined
}
