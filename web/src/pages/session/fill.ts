import { useLayoutEffect, useRef, useState } from 'react';

const BOTTOM = 12;

/** The height that is left below where the element begins, so that panes scroll and the page does not. */
export function useFill<T extends HTMLElement>(): [React.RefObject<T | null>, number | undefined] {
  const element = useRef<T>(null);
  const [height, setHeight] = useState<number>();
  useLayoutEffect(() => {
    const measure = () => {
      const found = element.current;
      if (found) setHeight(Math.max(420, window.innerHeight - found.getBoundingClientRect().top - window.scrollY - BOTTOM));
    };
    measure();
    window.addEventListener('resize', measure);
    return () => {
      window.removeEventListener('resize', measure);
    };
  }, []);
  return [element, height];
}
