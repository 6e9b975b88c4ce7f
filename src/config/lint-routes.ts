import { type LoadOptions, readConfig } from './load-config.ts'
import type { Problem } from './problem.ts'

/**
 * Everything that is wrong or odd in the configuration, errors and warnings, in the order of the file. With
 * `skills` given, routes to skills that are missing are errors. For `trivium routes check`.
 */
export async function lintRoutes(options: LoadOptions): Promise<Problem[]> {
  const { config, problems } = await readConfig(options)
  if (!config) return problems
  const odd = (message: string): Problem => ({ severity: 'warning', file: config.file, message })
  return [
    ...problems,
    ...(config.gateways.some((gateway) => gateway.enabled)
      ? []
      : [odd('no gateway is started: nothing can come in')]),
    ...(config.routes.length > 0
      ? []
      : [odd('there are no routes: messages reach receive and events, but no skill')]),
  ]
}
