// A value that components can follow.

import { useSyncExternalStore } from "react";

export class Followed<T> {
  private readonly listeners = new Set<() => void>();
  private value: T;

  constructor(value: T) {
    this.value = value;
  }

  get = () => this.value;

  set(value: T) {
    if (value === this.value) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };
}

export function useFollowed<T>(followed: Followed<T>, onServer: T): T {
  return useSyncExternalStore(followed.subscribe, followed.get, () => onServer);
}
