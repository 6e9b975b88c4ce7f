import { isDiskLow } from '../../core/disk-space.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MIB } from '../../core/units.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { nounOf } from '../../runtime/own-middleware.ts'
import { approvalTroubles } from './approval-trouble.ts'
import { budgetTroubles } from './budget-troubles.ts'
import { pauseTroubles } from './pause-troubles.ts'
import type { TroubleReadings } from './readings.ts'
import { refusalTroubles } from './refusal-troubles.ts'
import { roadTroubles } from './road-troubles.ts'
import { scheduleTrouble } from './schedule-trouble.ts'
import { isRejectedLogin, placeText, type SecretsOf } from './secret-places.ts'
import { storePauseTroubles } from './store-pause-trouble.ts'
import { error, firstLine, warning } from './trouble-parts.ts'
import { unansweredTroubles } from './unanswered-trouble.ts'

/**
 * Finds problems and pending approvals, in any order. Titles and texts contain no ages, so an entry
 * is stable while nothing changes. `at`: Unix ms.
 */
export function findTroubles(readings: TroubleReadings, at: number): Trouble[] {
  const { stored } = readings
  return [
    ...storePauseTroubles(readings.storePausedSince),
    ...unansweredTroubles(stored?.unanswered),
    ...approvalTroubles(stored?.approvals ?? []),
    ...daemonTroubles(readings),
    ...connectionTroubles(readings),
    ...refusalTroubles(readings.refusals, at, readings.secretsOf),
    ...pauseTroubles(readings.pauses),
    ...(stored ? roadTroubles(stored, readings, at) : []),
    ...(stored?.schedules ?? []).map(scheduleTrouble),
    ...(stored?.budgets ?? []).flatMap(budgetTroubles),
  ]
}

function daemonTroubles({ store, disk, draining, configuration, stored }: TroubleReadings): Trouble[] {
  const found: Trouble[] = []
  if (!store.ok) {
    found.push(
      error(
        'store-down',
        {},
        {
          title: 'The store does not accept messages',
          text: `All messages are refused, and senders must repeat them. ${store.reason ?? ''}`.trim(),
          todo: 'Free disk space, or restore the store; `trivium doctor` checks it.',
        },
      ),
    )
  }
  if (disk && isDiskLow(disk)) {
    found.push(
      warning(
        'disk-low',
        {},
        {
          title: 'The disk is almost full',
          text: `${Math.floor(disk.free / MIB)} MiB are free for ${disk.dir}.`,
          todo: 'Free space, or shorten `daemon.retention`; a store that is full refuses every message.',
        },
      ),
    )
  }
  const away = stored?.stats.away ?? []
  if (away.length > 0) {
    found.push(
      error(
        'shards-away',
        {},
        {
          title: `${counted(away.length, 'shard')} of the store cannot be reached`,
          text: `Shard ${away.join(', ')}: its conversations wait; the others are served.`,
          todo: 'Restore that Redis; no acknowledged message is lost.',
          count: away.length,
        },
      ),
    )
  }
  if (draining) {
    found.push(
      warning(
        'draining',
        {},
        {
          title: 'The daemon is stopping',
          text: 'It accepts no more messages, and finishes running work.',
          todo: 'Nothing, if that is intended.',
        },
      ),
    )
  }
  if (!configuration.ok) {
    found.push(
      error(
        'configuration',
        {},
        {
          title: 'The last reload failed',
          text: `The last good configuration stays in force. ${firstLine(configuration.error)}`,
          todo: 'Correct routes.yaml; `trivium route check` names the line.',
          since: configuration.at,
        },
      ),
    )
  }
  return found
}

function connectionTroubles({ gateways, queues, mcp, broken, secretsOf }: TroubleReadings): Trouble[] {
  return [
    ...gateways
      .filter(({ ok }) => !ok)
      .map(({ name, detail, since }) =>
        error(
          'gateway-down',
          { gateway: name },
          {
            title: `Gateway ${name} does not work`,
            text: detail ?? 'It does not say why.',
            todo: connectionTodo(name, detail, secretsOf),
            ...defined({ since }),
          },
        ),
      ),
    ...queues
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) =>
        error(
          'queue-down',
          { queue: name },
          {
            title: `Queue ${name} cannot be reached`,
            text: detail ?? 'It does not say why.',
            todo: 'Restore the Redis of `queues:`; messages wait for it.',
          },
        ),
      ),
    ...mcp
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) =>
        warning(
          'mcp-down',
          { server: name },
          {
            title: `MCP server ${name} cannot be used`,
            text: detail,
            todo: 'Check its address and login under `mcp:`; skills that need its tools fail.',
          },
        ),
      ),
    ...broken.map(({ name, reason }) =>
      warning(
        'skill-broken',
        { skill: name },
        {
          title: `${nounOf(name) === 'layer' ? 'Layer' : 'Skill'} ${name} cannot be loaded`,
          text: firstLine(reason),
          todo: 'Correct its file; `trivium skill list` shows the error.',
        },
      ),
    ),
  ]
}

/** What to do about a gateway without a connection. For a rejected login: which setting to change. */
function connectionTodo(gateway: string, detail = '', secretsOf?: SecretsOf): string {
  const place = isRejectedLogin(detail) ? placeText(gateway, secretsOf?.(gateway) ?? []) : ''
  const doctor = '`trivium doctor` checks the gateway.'
  return place === ''
    ? `Check login, address and token of the provider; ${doctor}`
    : `Correct the login. ${place} ${doctor}`
}
