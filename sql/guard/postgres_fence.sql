    IF TG_OP = 'INSERT' THEN
        {insert_without}{insert_noted}NEW.holdfast := NULL;
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        IF {ns}.guard_is_mine(OLD.xmin) THEN
            RETURN OLD;
        END IF;
        PERFORM {ns}.guard_refuse({name}, 'delete', '{state}', {without_old},
            format('In one transaction: UPDATE %s SET holdfast = -FENCE and nothing else, with the fence that was granted on %s; '
                'then DELETE.', {name}, {type} || '/' || {root_old}));
        RETURN OLD;
    ELSIF {same_key} THEN
        IF {ns}.guard_is_mine(OLD.xmin) OR {granted}({type}, {root_old}, NEW.holdfast) THEN
            NEW.holdfast := NULL;
            RETURN NEW;
        ELSIF NEW.holdfast < 0 AND {granted}({type}, {root_old}, -NEW.holdfast) THEN
            was := OLD;
            came := NEW;
            was.holdfast := NEW.holdfast;
            {forget_generated}IF was *= came THEN
                RETURN NEW;
            END IF;
        END IF;
        PERFORM {ns}.guard_refuse({name}, 'update', '{state}', {without_old},
            format('UPDATE %s SET ..., holdfast = FENCE WHERE ..., with the fence that was granted on %s.', {name},
                {type} || '/' || {root_old}));
    ELSE
        PERFORM {ns}.guard_refuse({name}, 'update', '{state}',
            format('The key of %s is guarded and stays as it is.', {name}),
            'Insert a new row and delete this one.');
    END IF;
    NEW.holdfast := NULL;
    RETURN NEW;
