import { dirname, resolve } from 'node:path'
import { isJsonObject } from '../core/json.ts'
import { MCP_NAME, type McpServer } from '../core/mcp.ts'
import { quote } from '../lib/nearest.ts'
import { mcpServerSchema } from '../runtime/mcp/schema.ts'
import type { Checker } from './checker.ts'

/** The section `mcp:`: enabled servers, and why others are off. */
export type McpConfig = { servers: McpServer[]; off: { name: string; why: string }[] }

/**
 * Parses `mcp:`, a mapping of names to servers. Commands run in the folder of the file that has
 * them.
 */
export function parseMcp(raw: unknown, checker: Checker): McpConfig {
  const config: McpConfig = { servers: [], off: [] }
  if (raw !== undefined && raw !== null && !isJsonObject(raw)) {
    checker.report(['mcp'], 'value', 'expected a mapping: the name of each server, then its settings')
  }
  for (const [name, one] of isJsonObject(raw) ? Object.entries(raw) : []) {
    const path = ['mcp', name]
    if (!MCP_NAME.test(name)) {
      const message = `bad name ${quote(name)}: a server's name has lower-case letters, digits and dashes`
      checker.report(path, 'key', message)
    }
    const parsed = checker.parse(mcpServerSchema, one, path)
    if (!parsed) continue
    const { enabled, cwd = '.', ...server } = parsed
    const unset = new Set(checker.missing(path).map((variable) => variable.name))
    if (String(enabled) === 'false') {
      config.off.push({ name, why: 'enabled: false' })
    } else if (enabled === 'auto' && unset.size > 0 && !checker.areVariablesOptional) {
      config.off.push({ name, why: `${[...unset].join(', ')} not set (enabled: auto)` })
    } else {
      checker.reportMissing(path)
      const folder = resolve(dirname(checker.fileOf(path)), cwd)
      config.servers.push({ ...server, name, folder })
    }
  }
  return config
}
