import { statfs } from 'node:fs/promises'
import { isJsonObject, type Json, toJson } from '../../core/json.ts'
import type { Check } from '../../core/transport.ts'
import type { AddCommand } from '../command.ts'
import { connectOrOpen } from '../connection.ts'
import { type Environs, loadFor } from '../environs.ts'
import { show, table } from '../terminal.ts'

/** `trivium doctor`. */
export const addDoctor: AddCommand = (program, context) => {
  program
    .command('doctor')
    .description(
      'check Node, the configuration, the store and each gateway; says what to do where something is wrong',
    )
    .action(async () => {
      const checks = [
        checkNode(),
        ...(await checkConfig(context.environs())),
        ...(await checkDaemon(context.environs())),
      ]
      const ok = checks.every((check) => check.ok)
      show(context.terminal(), { ok, checks }, () =>
        table(
          ['', 'check', ''],
          checks.map((check) => [check.ok ? '✓' : '✗', check.name, check.detail]),
        ),
      )
      if (!ok) context.exit(1)
    })
}

const MIN_FREE = 1024 ** 3

function checkNode(): Check {
  const major = Number(process.versions.node.split('.')[0])
  const ok = major >= 24
  return {
    name: 'Node',
    ok,
    detail: ok ? process.versions.node : `${process.versions.node}; Trivium needs 24 or newer`,
  }
}

async function checkConfig(environs: Environs): Promise<Check[]> {
  try {
    const config = await loadFor(environs)()
    const { bavail, bsize } = await statfs(environs.cwd)
    const free = bavail * bsize
    const space = `${(free / 1024 ** 3).toFixed(1)} GiB free`
    return [
      { name: 'configuration', ok: true, detail: config.file },
      {
        name: 'disk',
        ok: free > MIN_FREE,
        detail: free > MIN_FREE ? space : `${space}; less than 1 GiB is too little for a journal`,
      },
    ]
  } catch (error) {
    return [
      { name: 'configuration', ok: false, detail: error instanceof Error ? error.message : String(error) },
    ]
  }
}

/** The daemon checks its own store and gateways; without one, they are opened here. */
async function checkDaemon(environs: Environs): Promise<Check[]> {
  try {
    const connection = await connectOrOpen(environs)
    try {
      const running: Check = {
        name: 'daemon',
        ok: true,
        detail: connection.running
          ? 'running'
          : 'not running (start it with `trivium start`); checked without it',
      }
      return [running, ...asChecks(await connection.doctor())]
    } finally {
      await connection.close()
    }
  } catch (error) {
    return [{ name: 'daemon', ok: false, detail: error instanceof Error ? error.message : String(error) }]
  }
}

function asChecks(value: Json): Check[] {
  const list = Array.isArray(value) ? value.filter(isJsonObject) : []
  return list.map(({ name, ok, detail }) => ({
    name: String(name),
    ok: ok === true,
    detail: String(toJson(detail)),
  }))
}
