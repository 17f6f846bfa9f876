/* eslint-disable @typescript-eslint/no-extraneous-class, @typescript-eslint/no-unsafe-class-instance-assignment --
   modules of Nest are empty classes, and its options are classes by name alone */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { InvalidArgumentError } from '@holdfast/core'
import type { Term } from '@holdfast/core/election'
import 'reflect-metadata'
import { aborted } from '../../../core/test/redis/support/outcomes.js'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'
import { Leader, LocksModule } from '../../src/index.js'

@Injectable()
class Billing {
  readonly terms: Term[] = []

  @Leader({ data: { url: 'http://worker-7:8080' } })
  async run(term: Term): Promise<void> {
    this.terms.push(term)
    await aborted(term.signal)
  }
}

@Injectable()
class Sweeper extends Billing {
  readonly swept: Term[] = []

  @Leader({ name: 'sweeper', client: 'other' })
  async sweep(term: Term): Promise<void> {
    this.swept.push(term)
    await aborted(term.signal)
  }
}

describe('@Leader', () => {
  const opened: (() => Promise<void>)[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((close) => close()))
  })
  const redis = useRig({ redis: 'test' })

  const open = async <T extends object>(
    provider: new () => T,
    names: (string | undefined)[] = [undefined],
  ) => {
    @Module({
      imports: names.map((name) =>
        LocksModule.forRoot({ redis: redis.server.url, ...(name === undefined ? {} : { name }) }),
      ),
      providers: [provider],
    })
    class AppModule {}
    // Not an application context: that one begins at once, and leaves nothing to close where it cannot.
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false })
    const close = (): Promise<void> => app.close()
    opened.push(close)
    await app.init()
    return { host: app.get(provider), close }
  }

  it('leads in one application at a time, and the next one leads when it is closed', async () => {
    const first = await open(Billing)
    await eventually(() => first.host.terms.length === 1)
    const second = await open(Billing)
    await eventually(
      async () => (await redis.server.command('LLEN', 'redisson_lock_queue:{Billing.run}')) === 1,
    )
    expect(second.host.terms).toEqual([])
    await first.close()
    const [term] = first.host.terms
    expect(term?.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'stopped' })
    await eventually(() => second.host.terms.length === 1)
    expect(BigInt(second.host.terms[0]!.token)).toBeGreaterThan(BigInt(term!.token))
    expect(second.host.terms[0]!.name).toBe('Billing.run')
  })

  it('with a client of its own, and what a class inherits', async () => {
    const { host } = await open(Sweeper, [undefined, 'other'])
    await eventually(() => host.terms.length === 1 && host.swept.length === 1)
    expect([host.terms[0]!.name, host.swept[0]!.name]).toEqual(['Sweeper.run', 'sweeper'])
  })

  it('refuses to start with a client that no module provides: it would never campaign', async () => {
    const start = open(Sweeper, [undefined, 'others'])
    await expect(start).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument: 'client',
      value: 'other',
    })
    await expect(start).rejects.toThrow(
      'a client that LocksModule provides, the one without a name or "others", for @Leader on Sweeper.sweep',
    )
    await expect(open(Billing, ['other'])).rejects.toThrow('for @Leader on Billing.run; got undefined')
    expect(await redis.server.command('KEYS', 'holdfast:terms:*')).toEqual([])
  })

  it('refuses what is no option, and no method', () => {
    expect(() => Leader({ everyMs: 1 } as never)).toThrow(InvalidArgumentError)
    expect(() => Leader({ client: 1 } as never)).toThrow(InvalidArgumentError)
    expect(() => Leader()({}, 'run', {})).toThrow(InvalidArgumentError)
  })
})
